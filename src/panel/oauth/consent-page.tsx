/**
 * OAuth consent page. The user chooses account, permissions and expiration for an application, or denies access. The
 * page marks a name that the application chose itself.
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
import { useScopeLabels } from '../api-keys/scopes.js';
import { useDefaultAccountId } from '../session/accounts.js';
import { Frame } from '../session/frame.js';
import { mayCall } from '../session/permissions.js';
import { useMe } from '../session/session.js';
import { now } from '../words/clock.js';
import { Failure } from '../words/failure.js';
import { isolateName } from '../words/isolated.js';

type Me = ReturnType<typeof useMe>;
type AuthorizationRequest = components['schemas']['AuthorizationRequest'];

const DAY_MS = 86_400_000;
/** Lifetimes that the page offers, in days. */
const OFFERED_DAYS = [1, 7, 30, 90] as const;
/**
 * Margin that the page subtracts from the chosen lifetime, in milliseconds. The clocks of browser and server can
 * differ, and the API rejects an expiration beyond its limit.
 */
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

/**
 * Returns the mutations that approve or deny the request. Each mutation then redirects the browser to the application.
 */
function useDecision(id: string) {
  const params = { path: { id } };
  const redirectTo = ({ redirect_url: url }: { readonly redirect_url: string }): void => location.assign(url);
  const approval = useMutation({
    mutationFn: (body: components['schemas']['ApproveAuthorizationRequest']) =>
      unwrap(api.POST('/admin/v1/authorization-requests/{id}/approval', { params, body })),
    onSuccess: redirectTo,
  });
  const denial = useMutation({
    mutationFn: () => unwrap(api.POST('/admin/v1/authorization-requests/{id}/denial', { params })),
    onSuccess: redirectTo,
  });
  return { approval, denial };
}

function Consent({ id, request }: { readonly id: string; readonly request: AuthorizationRequest }) {
  const { t } = useLingui();
  const me = useMe();
  const home = useDefaultAccountId();
  const { approval, denial } = useDecision(id);
  const [account, setAccount] = useState<string | null>(
    home !== undefined && mayCall(me, 'approveAuthorizationRequest', home) ? home : null,
  );
  const [scopes, setScopes] = useState<readonly string[]>(request.scopes);
  const maxDays = request.longest_access_days;
  const [days, setDays] = useState(String(Math.min(30, maxDays)));
  const name = isolateName(request.client_name);
  const isDecided = approval.isSuccess || denial.isSuccess;
  const approve = (): void => {
    if (account === null) return;
    const expiresAt = new Date(now().getTime() + Number(days) * DAY_MS - MARGIN_MS).toISOString();
    approval.mutate({ account_id: account, scopes: [...scopes], expires_at: expiresAt });
  };
  // If the user can authorize applications in no account, the page says whom to ask.
  const hasNoAccount =
    !needsSearch(me) && !me.accounts.some(({ id: each }) => mayCall(me, 'approveAuthorizationRequest', each));
  const failed = approval.error ?? denial.error;
  return (
    <Frame title={t`Authorize ${name}?`} about={<ClientNotice request={request} />}>
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
            <Button variant="default" loading={denial.isPending} disabled={isDecided} onClick={() => denial.mutate()}>
              <Trans>Deny</Trans>
            </Button>
            <Button type="submit" loading={approval.isPending} disabled={isDecided || hasNoAccount}>
              <Trans>Authorize</Trans>
            </Button>
          </Group>
        }
      >
        <AccountField value={account} onChange={setAccount} />
        <ScopesField requested={request.scopes} value={scopes} onChange={setScopes} />
        <ExpirationField maxDays={maxDays} value={days} onChange={setDays} />
        <Text size="sm" c="dimmed">
          <Trans>It uses the account's quota. You can revoke its access on the API keys page at any time.</Trans>
        </Text>
      </Form>
    </Frame>
  );
}

function ClientNotice({ request }: { readonly request: AuthorizationRequest }) {
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

/**
 * Reports whether the user must search for accounts through the API, because the user has access to too many accounts
 * to list.
 */
const needsSearch = ({ has_more_accounts: hasMore, member }: Me): boolean => hasMore || member?.is_operator === true;

interface AccountFieldProps {
  readonly value: string | null;
  readonly onChange: (id: string | null) => void;
}

/** AccountField offers the accounts in which the user can authorize applications. */
function AccountField({ value, onChange }: AccountFieldProps) {
  const { t } = useLingui();
  const me = useMe();
  if (needsSearch(me)) return <AccountPicker field="account_id" value={value} onChange={onChange} />;
  const permitted = me.accounts.filter((account) => mayCall(me, 'approveAuthorizationRequest', account.id));
  if (permitted.length === 0)
    return (
      <Alert>
        <Trans>You can't create keys in any account. Ask an owner or admin to connect the application.</Trans>
      </Alert>
    );
  return (
    <FormSelect
      field="account_id"
      label={t`Account`}
      data={permitted.map((account) => ({ value: account.id, label: account.name }))}
      value={permitted.some((account) => account.id === value) ? value : null}
      onChange={onChange}
      allowDeselect={false}
    />
  );
}

interface ScopesFieldProps {
  readonly requested: readonly string[];
  readonly value: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}

/** ScopesField lists the requested scopes. The user can deselect each scope. */
function ScopesField({ requested, value, onChange }: ScopesFieldProps) {
  const { t } = useLingui();
  const words = useScopeLabels();
  return (
    <Checkbox.Group label={t`Permissions`} value={[...value]} error={useFieldError('scopes')} onChange={onChange}>
      <Stack gap={10} pt={6}>
        {requested.map((scope) => (
          <Checkbox key={scope} value={scope} label={words.long(scope)} description={scope} />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

interface ExpirationFieldProps {
  readonly maxDays: number;
  readonly value: string;
  readonly onChange: (days: string) => void;
}

/** ExpirationField offers lifetimes of the access, in days, up to the configured maximum `maxDays`. */
function ExpirationField({ maxDays, value, onChange }: ExpirationFieldProps) {
  const { t } = useLingui();
  const words: Readonly<Record<number, string>> = {
    1: t`A day`,
    7: t`A week`,
    30: t`30 days`,
    90: t`90 days`,
  };
  const offered = OFFERED_DAYS.filter((days) => days <= maxDays);
  const all = offered.includes(maxDays as (typeof OFFERED_DAYS)[number]) ? offered : [...offered, maxDays];
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
