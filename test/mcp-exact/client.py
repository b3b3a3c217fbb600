"""Lists, reads, renames and deletes a pet with a client in Python: it sends the id that it reads in the result.

Usage: URL=… API_KEY=… python client.py <client>
"""

import asyncio
import json
import os
import sys

URL = os.environ["URL"]
HEADERS = {"Authorization": "Bearer " + os.environ["API_KEY"]}


async def play(tools, call):
    """Plays the scenario. `call` returns what a tool says, as an object."""
    pets = (await call("list_pets", {}))["data"]
    pet = next(pet for pet in pets if pet["name"].startswith("target"))
    read = await call("get_pet", {"id": pet["id"]})
    await call("rename_pet", {"id": pet["id"], "name": "renamed", "owner": pet["id"]})
    await call("delete_pet", {"id": pet["id"]})
    print(json.dumps({"tools": tools, "read": json.dumps(read)}))


def said(result):
    """The structured content of a result of the official SDK."""
    is_error = getattr(result, "is_error", None) or getattr(result, "isError", None)
    if is_error:
        raise RuntimeError(str(result.content))
    structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    return structured if structured is not None else json.loads(result.content[0].text)


async def mcp():
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers=HEADERS) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            tools = len((await client.list_tools()).tools)

            async def call(name, arguments):
                return said(await client.call_tool(name, arguments))

            await play(tools, call)


async def fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    async with Client(StreamableHttpTransport(URL, headers=HEADERS)) as client:
        tools = len(await client.list_tools())

        async def call(name, arguments):
            return said(await client.call_tool(name, arguments))

        await play(tools, call)


async def openai_agents():
    from agents.mcp import MCPServerStreamableHttp

    async with MCPServerStreamableHttp(params={"url": URL, "headers": HEADERS}) as server:
        tools = len(await server.list_tools())

        async def call(name, arguments):
            return said(await server.call_tool(name, arguments))

        await play(tools, call)


async def pydantic_ai():
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(URL, headers=HEADERS) as server:
        tools = len(await server.list_tools())
        await play(tools, server.direct_call_tool)


async def langchain():
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"pets": {"transport": "streamable_http", "url": URL, "headers": HEADERS}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, arguments):
        content = await tools[name].ainvoke(arguments)
        text = content if isinstance(content, str) else content[0]["text"]
        return json.loads(text)

    await play(len(tools), call)


async def llama_index():
    from llama_index.tools.mcp import BasicMCPClient

    client = BasicMCPClient(URL, headers=HEADERS)
    tools = len((await client.list_tools()).tools)

    async def call(name, arguments):
        return said(await client.call_tool(name, arguments))

    await play(tools, call)


asyncio.run(globals()[sys.argv[1]]())
