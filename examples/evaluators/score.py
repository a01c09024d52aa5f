"""An evaluator in Python: how close the candidate's length is to the wanted length."""

import json
import os
import sys

payload = json.load(sys.stdin)
wanted = (payload.get("example") or {}).get("wanted_characters", 200)
length = len(payload["candidate"])
print(
    json.dumps(
        {
            "score": max(0.0, 1.0 - abs(length - wanted) / wanted),
            "reasoning": f"{length} characters, {wanted} wanted",
            "task_model": os.environ.get("OPTIMIZE_ANYTHING_TASK_MODEL"),
        }
    )
)
