/**
 * OAuth consent page: application, account, permissions and expiration. Claims of the application are marked as
 * unverified.
 */
import { Alert, Button, Checkbox, Group, Radio, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { Form } from '../layout/form.js';
import { useFieldError } from '../layout/form-errors.js';
import { FormSelect } from '../layout/form-fields.js';
import { AccountPicker } from '../platform/account-picker.js';
import { useScopeWords } from '../api-keys/scopes.js';
import { useHomeId } from '../session/accounts.js';
import { Frame } from '../session/frame.js';
import { mayCall } from '../session/permissions.js';
import { useMe } from '../session/session.js';
import { now } from '../words/clock.js';
import { Failure } from '../words/failure.js';
import { isolated } from '../words/isolated.js';

type Me = ReturnType<typeof useMe>;
type AuthorizationRequest = components['schemas']['AuthorizationRequest'];

const DAY_MS = 86_400_000;
const ENDS_DAYS = [1, 7, 30, 90] as const;
/** Keeps the expiration below the limit although the API checks it some seconds later, in milliseconds. */
const MARGIN_MS = 60_000;

export function ConsentPage({ id }: { readonly id: string }) {
  const { t } = useLingui();
  const request = useQuery({
    queryKey: ['authorization-request', id],
    gcTime: 0,
    queryFn: () => unwrap(api.GET('/admin/v1/authorization-requests/{id}', { params: { path: { id } } })),
  });
  if (request.data !== undefined) return <Consent id={id} request={request.data} />;
  if (request.error === null)
    return (
      <Frame title={t`One moment`}>
        <Skeleton h={120} />
      </Frame>
    );
  return (
    <Frame title={t`This request has expired`}>
      <Text>
        <Trans>Go back to the application and connect again.</Trans>
      </Text>
      <Failure error={request.error} again={() => void request.refetch()} />
    </Frame>
  );
}

function useDecision(id: string) {
  const params = { path: { id } };
  const goOn = ({ redirect_url: url }: { readonly redirect_url: string }): void => location.assign(url);
  const approval = useMutation({
    mutationFn: (body: components['schemas']['ApproveAuthorizationRequest']) =>
      unwrap(api.POST('/admin/v1/authorization-requests/{id}/approval', { params, body })),
    onSuccess: goOn,
  });
  const denial = useMutation({
    mutationFn: () => unwrap(api.POST('/admin/v1/authorization-requests/{id}/denial', { params })),
    onSuccess: goOn,
  });
  return { approval, denial };
}

function Consent({ id, request }: { readonly id: string; readonly request: AuthorizationRequest }) {
  const { t } = useLingui();
  const me = useMe();
  const home = useHomeId();
  const { approval, denial } = useDecision(id);
  const [account, setAccount] = useState<string | null>(
    home !== undefined && mayCall(me, 'approveAuthorizationRequest', home) ? home : null,
  );
  const [scopes, setScopes] = useState<readonly string[]>(request.scopes);
  const longest = request.longest_access_days;
  const [days, setDays] = useState(String(Math.min(30, longest)));
  const name = isolated(request.client_name);
  const isGone = approval.isSuccess || denial.isSuccess;
  const approve = (): void => {
    if (account === null) return;
    const expiresAt = new Date(now().getTime() + Number(days) * DAY_MS - MARGIN_MS).toISOString();
    approval.mutate({ account_id: account, scopes: [...scopes], expires_at: expiresAt });
  };
  // The page names the person to contact instead.
  const isNowhere =
    !mayChooseAny(me) && !me.accounts.some(({ id: each }) => mayCall(me, 'approveAuthorizationRequest', each));
  const failed = approval.error ?? denial.error;
  return (
    <Frame title={t`Authorize ${name}?`} about={<WhoAsks request={request} />}>
      <Form
        gap="lg"
        error={failed}
        checks={{
          account_id: account === null && t`Choose an account.`,
          scopes: scopes.length === 0 && t`Choose at least one permission.`,
        }}
        onSubmit={approve}
        footer={
          <Group justify="flex-end">
            <Button variant="default" loading={denial.isPending} disabled={isGone} onClick={() => denial.mutate()}>
              <Trans>Deny</Trans>
            </Button>
            <Button type="submit" loading={approval.isPending} disabled={isGone || isNowhere}>
              <Trans>Authorize</Trans>
            </Button>
          </Group>
        }
      >
        <AccountField value={account} onChange={setAccount} />
        <ScopesField asked={request.scopes} value={scopes} onChange={setScopes} />
        <EndField longest={longest} value={days} onChange={setDays} />
        <Text size="sm" c="dimmed">
          <Trans>It uses the account's quota. You can revoke its access on the API keys page at any time.</Trans>
        </Text>
      </Form>
    </Frame>
  );
}

function WhoAsks({ request }: { readonly request: AuthorizationRequest }) {
  const { client_host: host, redirect_host: redirect } = request;
  return (
    <>
      {host === null ? (
        <Trans>The app chose this name. It isn't verified.</Trans>
      ) : (
        <Trans>
          The app at <b>{host}</b> chose this name.
        </Trans>
      )}{' '}
      <Trans>
        Continue only if you just connected it yourself. You'll be redirected to <b>{redirect}</b>.
      </Trans>
    </>
  );
}

/** Reports whether accounts must be searched, because there are too many to list. */
const mayChooseAny = ({ has_more_accounts: hasMore, member }: Me): boolean => hasMore || member?.is_operator === true;

interface AccountFieldProps {
  readonly value: string | null;
  readonly onChange: (id: string | null) => void;
}

/** Chooses an account in which the person can create keys. */
function AccountField({ value, onChange }: AccountFieldProps) {
  const { t } = useLingui();
  const me = useMe();
  if (mayChooseAny(me)) return <AccountPicker field="account_id" value={value} onChange={onChange} />;
  const theirs = me.accounts.filter((account) => mayCall(me, 'approveAuthorizationRequest', account.id));
  if (theirs.length === 0)
    return (
      <Alert>
        <Trans>You can't create keys in any account. Ask an owner or admin to connect the application.</Trans>
      </Alert>
    );
  return (
    <FormSelect
      field="account_id"
      label={t`Account`}
      data={theirs.map((account) => ({ value: account.id, label: account.name }))}
      value={theirs.some((account) => account.id === value) ? value : null}
      onChange={onChange}
      allowDeselect={false}
    />
  );
}

interface ScopesFieldProps {
  readonly asked: readonly string[];
  readonly value: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}

/** Lists the requested permissions. Each can be deselected. */
function ScopesField({ asked, value, onChange }: ScopesFieldProps) {
  const { t } = useLingui();
  const words = useScopeWords();
  return (
    <Checkbox.Group label={t`Permissions`} value={[...value]} error={useFieldError('scopes')} onChange={onChange}>
      <Stack gap={10} pt={6}>
        {asked.map((scope) => (
          <Checkbox key={scope} value={scope} label={words.long(scope)} description={scope} />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

interface EndFieldProps {
  readonly longest: number;
  readonly value: string;
  readonly onChange: (days: string) => void;
}

/** Chooses the expiration within the configured limit. */
function EndField({ longest, value, onChange }: EndFieldProps) {
  const { t } = useLingui();
  const words: Readonly<Record<number, string>> = {
    1: t`A day`,
    7: t`A week`,
    30: t`30 days`,
    90: t`90 days`,
  };
  const offered = ENDS_DAYS.filter((days) => days <= longest);
  const all = offered.includes(longest as (typeof ENDS_DAYS)[number]) ? offered : [...offered, longest];
  return (
    <Radio.Group label={t`For how long`} value={value} error={useFieldError('expires_at')} onChange={onChange}>
      <SimpleGrid cols={2} spacing="sm" verticalSpacing="sm" pt={6}>
        {all.map((days) => (
          <Radio key={days} value={String(days)} label={words[days] ?? t`${days} days`} />
        ))}
      </SimpleGrid>
    </Radio.Group>
  );
}
