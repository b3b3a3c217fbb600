"""Lists, pages, calls and is refused with the official Python client, and says as JSON what came of it."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def listed(client):
    """Every tool, page by page."""
    names, pages, cursor = [], 0, None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        pages += 1
        cursor = page.next_cursor
        if cursor is None:
            return names, pages


def said(result):
    return {"is_error": bool(result.is_error), "text": result.content[0].text}


async def main(url, mode):
    headers = {"Authorization": "Bearer " + os.environ["API_KEY"]}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            names, pages = await listed(client)
            calls = []
            for name, arguments in json.loads(os.environ["CALLS"]):
                calls.append(said(await client.call_tool(name, arguments)))
            version = client.protocol_version
    print(json.dumps({"version": version, "names": names, "pages": pages, "calls": calls}))


asyncio.run(main(sys.argv[1], sys.argv[2]))
