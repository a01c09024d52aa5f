"""An evaluator of the prompt itself: fill it with one ticket, call the model, compare the label."""

import json
import sys

from keyword_model import answer

payload = json.load(sys.stdin)
example = payload.get("example") or {"ticket": "Invoice 7 is wrong.", "label": "billing"}
said = answer(payload["candidate"].replace("{prompt}", f"Ticket: {example['ticket']}"))
print(json.dumps({"score": float(said == example["label"]), "said": said, "Ticket": f"Ticket: {example['ticket']}"}))
