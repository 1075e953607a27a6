"""Runs the notebook's cells without Jupyter: `python examples/notebook/run.py`."""

import ast
import json
from pathlib import Path

notebook = json.loads((Path(__file__).parent / "sandbar.ipynb").read_text(encoding="utf-8"))
names: dict = {"__name__": "__main__"}
for number, cell in enumerate(notebook["cells"]):
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse("".join(cell["source"]), filename=f"cell {number}")
    # As in a notebook, the value of the last expression is shown.
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        if value is not None:
            print(getattr(value, "text", None) or repr(value))
