/** The official client with an access token that it has already, and what becomes of its stream. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** Connects one. @param mode `legacy`: as a client of 2025 does; else 2026-07-28. The caller closes it. */
export async function connectedClient(url: string, token: string, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** OpenStream is one on which a client of 2026-07-28 listens. */
export interface OpenStream {
  isOver(): boolean;
}

/** Has a client listen. */
export async function openStream(client: Client): Promise<OpenStream> {
  let isOver = false;
  const { closed } = await client.listen({ toolsListChanged: true });
  void closed.then(() => (isOver = true));
  return { isOver: () => isOver };
}
