/** Instructions to connect an assistant: a menu of assistants, and the steps and snippets for the chosen assistant. */
import { Alert, Code, Select, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Icon } from '../layout/icons.js';
import { SecretLine } from '../layout/secret-frame.js';
import { asksForKey, CLIENTS, snippetsOf, type Client, type Connection } from './clients.js';

interface ConnectProps {
  readonly client: Client;
  readonly connection: Connection;
  readonly onChoose: (client: Client) => void;
}

/** Product names of assistants, which are not translated. */
const NAMES: Readonly<Record<Exclude<Client, 'json'>, string>> = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  'claude-ai': 'claude.ai',
  chatgpt: 'ChatGPT',
  cursor: 'Cursor',
  'vs-code': 'VS Code (GitHub Copilot)',
  codex: 'Codex',
};

export function Connect({ client, connection, onChoose }: ConnectProps) {
  const { t } = useLingui();
  const isLocal = /^https?:\/\/(?:localhost|127\.|\[)/.test(connection.url);
  return (
    <Stack gap="md">
      <Select
        label={t`Assistant`}
        allowDeselect={false}
        maw={360}
        data={CLIENTS.map((value) => ({ value, label: value === 'json' ? t`Other (JSON)` : NAMES[value] }))}
        value={client}
        onChange={(value) => onChoose((value ?? client) as Client)}
      />
      <Text size="sm">
        <Steps client={client} />
      </Text>
      {isLocal && (client === 'claude-ai' || client === 'chatgpt') && (
        <Alert
          color="orange"
          variant="light"
          icon={<Icon name="warn" />}
          title={t`The assistant can't reach this address`}
        >
          <Trans>It connects from the internet, but {connection.url} is only reachable on this machine.</Trans>
        </Alert>
      )}
      {snippetsOf(client, connection).map(({ place, text }) => (
        <SecretLine key={place} label={place} text={text} />
      ))}
      {asksForKey(client) && (
        <Text size="sm" c="dimmed">
          <Trans>It asks for the key on the first connection and keeps it out of the file.</Trans>
        </Text>
      )}
    </Stack>
  );
}

function Steps({ client }: { readonly client: Client }): ReactNode {
  switch (client) {
    case 'claude-code':
      return <Trans>Run this in a terminal, in the folder where you want to use it.</Trans>;
    case 'claude-desktop':
      return (
        <Trans>
          Open Settings, Developer, Edit Config, add this and restart Claude Desktop. It needs Node.js to connect with
          mcp-remote.
        </Trans>
      );
    case 'claude-ai':
      return (
        <Trans>
          Open Settings, Connectors, Add custom connector. If it offers request headers, add Authorization. Otherwise,
          it can only sign in with OAuth.
        </Trans>
      );
    case 'chatgpt':
      return <Trans>ChatGPT only signs in with OAuth. Use this tool in your own programs with the OpenAI API.</Trans>;
    case 'cursor':
      return <Trans>Add this to the file in your home folder, or to .cursor/mcp.json in a project.</Trans>;
    case 'vs-code':
      return <Trans>Add this to the file in your project, then click Start above it.</Trans>;
    case 'codex':
      return (
        <Trans>
          Add this at the end of the file. Codex reads <Code>http_headers</Code> and ignores <Code>headers</Code>.
        </Trans>
      );
    case 'json':
      return <Trans>Most other assistants accept this or a similar format: the URL and a header with the key.</Trans>;
  }
}
