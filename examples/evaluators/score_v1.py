"""An evaluator written before protocol v2: it reads only `candidate` and works unchanged."""

import json
import sys

candidate = json.load(sys.stdin)["candidate"]
print(json.dumps({"score": 1.0 if candidate.strip().endswith((".", "!", "?")) else 0.0}))
