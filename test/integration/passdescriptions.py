"""What the Passes.td files say of each pass, and whether it is so."""
import re
import subprocess
import textwrap

PASS = re.compile(r'^def (\w+) : Tcc_Pass<"([\w-]+)"> \{(.*?)^\}', re.M | re.S)
BLOCK = re.compile(r"```mlir (before|after)(.*?)\n(.*?)```", re.S)


def passes(tree):
    """Name, argument and description of every pass of a source tree."""
    for file in sorted((tree / "include/tcc").rglob("*Passes.td")):
        for name, argument, body in PASS.findall(file.read_text()):
            yield name, argument, textwrap.dedent(re.search(r"let description = \[\{\n(.*?)\n  \}\];", body, re.S).group(1))


def opt(program, ir, *options):
    """What tcc-opt makes of the IR, as it prints it."""
    done = subprocess.run([program, *options], input=ir, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"tcc-opt {' '.join(options)}: {done.stderr}\n{ir}")
    return done.stdout


def check_description(test, program, argument, description):
    """Holds the IR before and after against what tcc-opt does."""
    blocks = BLOCK.findall(description)
    test.assertEqual([kind for kind, _, _ in blocks], ["before", "after"], argument)
    (_, first, before), (_, last, after) = blocks
    itself = " ".join(word for word in first.split() if not word.startswith("-"))
    earlier = [word for word in first.split() if word.startswith("-")]
    run = f"-{argument}={itself}" if itself else f"-{argument}"
    test.assertEqual(opt(program, before, *earlier, run, *last.split()), opt(program, after), argument)
    end = description[description.rindex("```") + 3:].strip()
    test.assertTrue(end.startswith("Runs "), f"{argument} does not end with what it follows: {end}")
