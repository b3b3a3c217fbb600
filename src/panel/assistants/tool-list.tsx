/** Section that lists the tools that an assistant can call with a key, and how many tokens of its context they use. */
import { Alert, Badge, Group, Select, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useKeyChoice } from '../explain/key-choice.js';
import { Icon } from '../layout/icons.js';
import { Section } from '../layout/section.js';
import { useAccount } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { useTools, type McpTool, type McpTools } from './assistants.js';

interface ToolListProps {
  /** ID of the chosen key. Null: show all tools. */
  readonly keyId: string | null;
  readonly onChoose: (keyId: string | null) => void;
}

export function ToolList({ keyId, onChoose }: ToolListProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  const { chosen, props } = useKeyChoice(id, { sort: 'created', order: 'desc', status: 'active' }, keyId);
  const tools = useTools(id, chosen?.scopes ?? null);
  return (
    <Section title={t`Available tools`} description={<Trans>Only tools this key can call are listed.</Trans>}>
      <Stack gap="md">
        <Select
          label={t`Key`}
          placeholder={t`All tools`}
          maw={360}
          {...props}
          clearable
          clearButtonProps={{ 'aria-label': t`All tools` }}
          onChange={onChoose}
        />
        {tools.data === undefined ? (
          tools.error === null ? (
            <Skeleton h={160} />
          ) : (
            <Failure error={tools.error} again={() => void tools.refetch()} />
          )
        ) : (
          <Tools tools={tools.data} />
        )}
      </Stack>
    </Section>
  );
}

function Tools({ tools: { data, total, searched } }: { readonly tools: McpTools }) {
  const { t } = useLingui();
  const { number } = useFormats();
  if (data.length === 0)
    return (
      <Alert color="orange" variant="light" icon={<Icon name="warn" />} title={t`No tools for this key`}>
        <Trans>This key's permissions include no tools. Choose another key, or add permissions to this one.</Trans>
      </Alert>
    );
  const count = number(data.length);
  const tokens = number(data.reduce((sum, tool) => sum + tool.tokens, 0));
  return (
    <>
      <Text size="sm" c="dimmed">
        <Plural value={total} one={`${count} of # tool`} other={`${count} of # tools`} />
        {' · '}
        {searched ? (
          <Trans>Too many to list. The assistant searches for a tool and calls it.</Trans>
        ) : (
          <Trans>about {tokens} tokens in each conversation</Trans>
        )}
      </Text>
      <Stack gap={0} component="ul" className="plain-list flush">
        {data.map((tool) => (
          <Row key={tool.name} tool={tool} />
        ))}
      </Stack>
    </>
  );
}

function Row({ tool }: { readonly tool: McpTool }) {
  return (
    <li className="line">
      <Group justify="space-between" gap="xs">
        <Text fw={600} className="name" translate="no">
          {tool.name}
        </Text>
        <Effect tool={tool} />
      </Group>
      <Text size="sm" className="name" lineClamp={3}>
        {tool.description}
      </Text>
      <Text size="xs" c="dimmed" className="name" translate="no">
        {tool.scopes.join(' ')}
      </Text>
    </li>
  );
}

function Effect({ tool }: { readonly tool: McpTool }) {
  const color = tool.read_only ? 'river' : tool.destructive ? 'red' : 'orange';
  return (
    <Badge variant="light" color={color} style={{ flexShrink: 0 }}>
      {tool.read_only ? <Trans>Read</Trans> : tool.destructive ? <Trans>Destructive</Trans> : <Trans>Create</Trans>}
    </Badge>
  );
}
