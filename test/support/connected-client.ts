/** Connects the official MCP client with an existing access token, and observes its event stream. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/**
 * Connects a client. The caller must close it.
 * @param mode `legacy` uses a protocol version from 2025; `auto` negotiates version 2026-07-28
 */
export async function connectedClient(url: string, token: string, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** OpenStream is the event stream of a client that listens for changes. */
export interface OpenStream {
  /** Reports whether the stream has ended. */
  isOver(): boolean;
}

/** Subscribes a client to changes of the tool list. */
export async function openStream(client: Client): Promise<OpenStream> {
  let isOver = false;
  const { closed } = await client.listen({ toolsListChanged: true });
  void closed.then(() => (isOver = true));
  return { isOver: () => isOver };
}
