/**
 * Page that explains how to connect AI assistants to an account. It has setup instructions, keys, the available tools
 * and recent calls.
 */
import { Button, Skeleton } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Empty } from '../layout/empty.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { Section } from '../layout/section.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { useTools, type McpTools } from './assistants.js';
import { CLIENTS, PLACEHOLDER, serverNameOf, type Client } from './clients.js';
import { Connect } from './connect.js';
import { KeyDialog } from './key-dialog.js';
import { LatestCalls } from './latest-calls.js';
import { ConnectedAssistants } from './connected-assistants.js';
import { ToolList } from './tool-list.js';

export function AssistantsPage() {
  const { t } = useLingui();
  const account = useAccount();
  const may = useCan();
  const tools = useTools(account.id, null);
  const mayCreate = may('createApiKey') && tools.data?.enabled === true;
  return (
    <Page
      title={t`AI assistants`}
      description={
        <Trans>
          Connect Claude, Cursor, Codex and others to your account. An API key sets their permissions and limits.
        </Trans>
      }
      actions={
        mayCreate && (
          <Button component={Link} href={`/${account.id}/assistants/new`} leftSection={<Icon name="plus" />}>
            <Trans>Create assistant key</Trans>
          </Button>
        )
      }
    >
      {tools.data === undefined ? (
        tools.error === null ? (
          <Skeleton h={260} radius="lg" />
        ) : (
          <Failure error={tools.error} again={() => void tools.refetch()} />
        )
      ) : tools.data.enabled ? (
        <AssistantsContent tools={tools.data} mayCreate={mayCreate} />
      ) : (
        <Empty
          icon="assistant"
          title={t`No tools for assistants yet`}
          text={t`Your API provider chooses which operations assistants can call. None are available yet.`}
        />
      )}
    </Page>
  );
}

interface AssistantsContentProps {
  readonly tools: McpTools;
  readonly mayCreate: boolean;
}

/** AssistantsContent is the content of the page if the MCP server is on and has at least one tool. */
function AssistantsContent({ tools, mayCreate }: AssistantsContentProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  const may = useCan();
  const [location, navigate] = useLocation();
  const [client, setClient] = useState<Client>(CLIENTS[0]);
  const [keyId, setKeyId] = useState<string | null>(null);
  const connection = { url: tools.url, server: serverNameOf(tools.server_name) };
  const home = `/${id}/assistants`;
  const readingScopes = tools.data.filter((tool) => tool.read_only).flatMap(({ scopes }) => scopes);
  return (
    <>
      <Section
        title={t`Connect`}
        description={<Trans>Choose your assistant, copy its settings and replace {PLACEHOLDER} with your key.</Trans>}
      >
        <Connect client={client} connection={{ ...connection, secret: PLACEHOLDER }} onChoose={setClient} />
      </Section>
      <ToolList keyId={keyId} onChoose={setKeyId} />
      {tools.oauth_url !== null && <ConnectedAssistants url={tools.oauth_url} />}
      {may('listRequests') && <LatestCalls />}
      {mayCreate && (
        <KeyDialog
          opened={location === `${home}/new`}
          connection={connection}
          client={client}
          readingScopes={[...new Set(readingScopes)]}
          onChoose={setClient}
          onCreated={setKeyId}
          onClose={() => navigate(home, { replace: true })}
        />
      )}
    </>
  );
}
