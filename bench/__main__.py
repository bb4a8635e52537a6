"""Run every benchmark: print a table, write build/bench.json. Never a pass or fail."""

import importlib
import importlib.util
import json
from pathlib import Path

from bench.harness import Result

# In this order; one that is not there is left out.
MODULES = ("canonical", "sealing", "didcomm", "guard", "store", "audit")
OUTPUT = Path(__file__).parents[1] / "build" / "bench.json"


def main() -> None:
    results: list[Result] = []
    for name in MODULES:
        if importlib.util.find_spec(f"bench.{name}"):
            results += importlib.import_module(f"bench.{name}").run()
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(results, indent=2) + "\n")
    print(f"{'':42}{'bytes':>10}{'rate':>12}{'floor':>12}{'ratio':>8}")
    for made in results:
        print(
            f"{made['name']:42}{made['size']:>10,}{made['rate']:>12,.1f}"
            f"{made['floor']:>12,.1f}{made['ratio']:>8.2f}  {made['unit']}"
        )
        for peer, rate in made["peers"].items():
            print(f"    {made['rate'] / rate:.1f} times {peer} ({rate:,.1f})")


if __name__ == "__main__":
    main()
