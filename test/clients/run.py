"""Makes the calls of one Python client, as run.mjs does for clients in Node.

Reads a line of JSON for each call, and prints a line of JSON with its result. Sleeping takes no time: each wait is
reported to the test, and ends when the test replies.
"""
import json
import sys
import time

waits = []


def send(message):
    print(json.dumps(message), flush=True)


def sleep(seconds):
    waits.append(round(seconds * 1000))
    send({"waitedMs": seconds * 1000})
    sys.stdin.readline()


time.sleep = sleep


def with_requests(**options):
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    session = requests.Session()
    retry = Retry(total=3, backoff_factor=0.5, status_forcelist=[429, 502, 503, 504], **options)
    session.mount("http://", HTTPAdapter(max_retries=retry))

    def call(origin, secret, method, path):
        headers = {"Authorization": f"Bearer {secret}"}
        response = session.request(method, origin + path, headers=headers)
        response.raise_for_status()
        return response.json()

    return call


def with_httpx():
    import httpx

    client = httpx.Client(transport=httpx.HTTPTransport(retries=3))

    def call(origin, secret, method, path):
        response = client.request(method, origin + path, headers={"Authorization": f"Bearer {secret}"})
        response.raise_for_status()
        return response.json()

    return call


DETAIL = 'error.response.json()["detail"]'


def detail_in(error):
    try:
        return eval(DETAIL, {"error": error})
    except Exception:
        return None


call = {
    "requests": with_requests,
    "requests, raise_on_status=False": lambda: with_requests(raise_on_status=False),
    "httpx": with_httpx,
}[sys.argv[1]]()
send({"ready": True, "detailOf": DETAIL})
for line in iter(sys.stdin.readline, ""):
    message = json.loads(line)
    waits.clear()
    outcome = {"text": None, "detail": None}
    try:
        call(message["origin"], message["secret"], message["method"], message["path"])
    except Exception as error:
        outcome = {"text": str(error), "detail": detail_in(error)}
    send({**outcome, "waitsMs": list(waits)})
