"""Verifies webhooks, given as a JSON list on the standard input; prints what the library makes of each."""
import json
import sys

from standardwebhooks import Webhook

outcomes = []
for webhook in json.load(sys.stdin):
    try:
        Webhook(webhook["secret"]).verify(webhook["body"], webhook["headers"])
        outcomes.append([webhook["what"], "standardwebhooks (Python)", "accepted"])
    except Exception as error:
        outcomes.append([webhook["what"], "standardwebhooks (Python)", f"refused: {error}"])
print(json.dumps(outcomes))
