"""An evaluator that keeps running and accepts batches: it could load a model once, then scores line by line."""

import json
import sys


def score(payload):
    wanted = (payload.get("example") or {}).get("wanted_characters", 200)
    length = len(payload["candidate"])
    closeness = max(0.0, 1.0 - abs(length - wanted) / wanted)
    return {"score": closeness, "reasoning": f"{length} characters, {wanted} wanted"}


for line in sys.stdin:
    request = json.loads(line)
    answer = {"results": [score(each) for each in request["batch"]]} if "batch" in request else score(request)
    print(json.dumps({**answer, "_id": request.get("_id")}), flush=True)
