/** Shows how to connect an assistant: choice, steps and snippets. */
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

/** Product names, the same in every language. */
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
        <Alert color="orange" variant="light" icon={<Icon name="warn" />} title={t`It cannot reach this address`}>
          <Trans>It connects from the internet, and {connection.url} is on this machine only.</Trans>
        </Alert>
      )}
      {snippetsOf(client, connection).map(({ place, text }) => (
        <SecretLine key={place} label={place} text={text} />
      ))}
      {asksForKey(client) && (
        <Text size="sm" c="dimmed">
          <Trans>It asks for the key when it connects first, and keeps it out of the file.</Trans>
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
          Open Settings, Developer, Edit Config, put this in and start Claude Desktop again. It needs Node.js: the
          program mcp-remote connects for it.
        </Trans>
      );
    case 'claude-ai':
      return (
        <Trans>
          Open Settings, Connectors, Add custom connector. Where it offers request headers, add Authorization; where it
          does not, it can sign in with OAuth only.
        </Trans>
      );
    case 'chatgpt':
      return (
        <Trans>
          The app takes no key: it signs in with OAuth only. A program of your own that uses OpenAI’s API takes this
          tool.
        </Trans>
      );
    case 'cursor':
      return <Trans>Put this into the file in your home folder, or into .cursor/mcp.json of a project.</Trans>;
    case 'vs-code':
      return <Trans>Put this into the file in your project, and press Start above it.</Trans>;
    case 'codex':
      return (
        <Trans>
          Put this at the end of the file. Codex reads <Code>http_headers</Code>, and passes over <Code>headers</Code>.
        </Trans>
      );
    case 'json':
      return <Trans>Most others take this, or something close to it: the address, and a header with the key.</Trans>;
  }
}
