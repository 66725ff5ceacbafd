"""Running the built tools in a scratch folder and looking at what they leave behind."""
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass

from compiled import tool

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Where scripts/fetch-models and scripts/export-models put their folders.
MODELS = pathlib.Path(os.environ.get("TCC_CACHE") or
                      pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tcc") / "models"


def fetch_models(*names):
    """Folders of trained models, of all without a name; what is there already is not made again."""
    subprocess.run([SOURCE / "scripts/fetch-models", *names], check=True)


def export_models(*names):
    """Folders of architectures of test/models/architectures.py."""
    subprocess.run([SOURCE / "scripts/export-models", *names], check=True)


# Characters that move the cursor, turn the direction of text or are not shown, except for the end of a line.
UNSAFE = re.compile("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\U000e0000-\\U000e0fff]")


@dataclass
class Result:
    code: int
    out: str
    err: bytes
    seconds: float
    peak_bytes: int

    @property
    def text(self):
        return self.err.decode(errors="replace")


def run(name, *arguments, cwd=None, timeout=120, env=None, before=None):
    """Runs a tool to its end; a signal shows as a negative code. `before` runs in the new process.

    `timeout` and the result's seconds are of the CPU, as others may keep the machine busy; by the clock it may take ten times that."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen([tool(name), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=err, cwd=cwd, env={**os.environ, **(env or {})}, preexec_fn=before)
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > 10 * timeout:
                child.kill()
                os.wait4(child.pid, 0)
                raise TimeoutError(f"{name} {' '.join(map(str, arguments))}: more than {10 * timeout} s")
            time.sleep(0.002)
        seconds = usage.ru_utime + usage.ru_stime
        if seconds > timeout:
            raise TimeoutError(f"{name} {' '.join(map(str, arguments))}: {seconds:.0f} s of CPU, more than {timeout} s")
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Result(child.returncode, out.read().decode(errors="replace"), err.read(), seconds, usage.ru_maxrss * 1024)


def cpu_levels():
    """What --cpu may be for a result that runs here."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(next((line for line in file if line.startswith(("flags", "Features"))), "").split())
    yield "native"
    yield from (level for level, needs in (("v2", "sse4_2"), ("v3", "avx2"), ("v4", "avx512bw")) if needs in flags)


class ToolTest(unittest.TestCase):
    """A test with a scratch folder and a cold kernel cache of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tcc-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.env = {"TCC_CACHE_DIR": str(self.folder / "cache"), "TMPDIR": str(self.folder / "tmp")}
        (self.folder / "tmp").mkdir()

    def tcc(self, *arguments, **options):
        return run("tcc", *arguments, cwd=self.work, env=self.env, **options)

    def tcc_run(self, *arguments, **options):
        return run("tcc-run", *arguments, cwd=self.work, env=self.env, **options)

    def compiles(self, *arguments, **options):
        result = self.tcc(*arguments, **options)
        self.assertEqual(result.code, 0, result.text)
        return result

    def fresh_name(self):
        """A name for a library: one that is loaded already is not loaded again from the same path."""
        self.libraries = getattr(self, "libraries", 0) + 1
        return f"model{self.libraries}.so"

    def left_behind(self):
        """What lies in the working and the temporary folder."""
        return sorted(str(path.relative_to(self.folder)) for top in ("work", "tmp")
                      for path in (self.folder / top).rglob("*"))
