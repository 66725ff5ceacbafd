"""Runs a compiled model from Python on NumPy arrays; nothing of tcc but model.so and tcc.py is needed."""
import numpy as np
import tcc

with tcc.Model("model.so", threads=2) as model:
    print("inputs: ", [t.shape[1:] for t in model.inputs], "of", model.inputs[0].dtype)
    print("outputs:", [t.shape[1:] for t in model.outputs], "of", model.outputs[0].dtype)
    for batch in (1, 3):
        x = np.arange(batch * 10, dtype=np.float32).reshape(batch, 10) * np.float32(0.1) - 1
        (y,) = model(x)
        print(f"batch of {batch}:", np.array2string(y, precision=4, floatmode="fixed").replace("\n", ""))
    try:
        model(x.astype(np.float64))
    except tcc.Error as error:
        print("refused:", str(error).split("got ")[1])
