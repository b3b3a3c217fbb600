/**
 * Second step of the adjustment dialog. It describes the effect of the adjustment, and has the button that creates the
 * adjustment.
 */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { hasCode } from '../api/problem.js';
import type { Usage, UsageWindow } from '../usage/usage.js';
import { Failure } from '../words/failure.js';
import { isolateName } from '../words/isolated.js';
import { useFormats } from '../words/times.js';

type Adjustment = components['schemas']['CreateQuotaAdjustment'];

interface ConfirmAdjustmentProps {
  readonly accountId: string;
  readonly body: Adjustment;
  readonly error: unknown;
  readonly isPending: boolean;
  readonly onBack: () => void;
  readonly onConfirm: () => void;
}

export function ConfirmAdjustment({ accountId, body, error, isPending, onBack, onConfirm }: ConfirmAdjustmentProps) {
  const { t } = useLingui();
  const keyId = body.api_key_id ?? null;
  const usage = useMonthWindow(accountId, keyId);
  const target = useTargetName(accountId, keyId);
  return (
    <Stack gap="lg">
      <Text fw={600} className="name">
        <Effect adjustment={body} monthWindow={usage.data} />
      </Text>
      {target !== undefined && <Text className="name">{target}</Text>}
      <Text className="name">
        <Trans>Reason: {body.reason}</Trans>
      </Text>
      <Text>
        <Trans>This can't be changed later.</Trans>
      </Text>
      {hasCode(error, 'conflict') ? (
        <Alert color="red" variant="light" role="alert" title={t`No limit to raise`}>
          <Trans>
            This month has no limit, or the key is revoked. Go back and choose another month, or set the requests used.
          </Trans>
        </Alert>
      ) : (
        error !== null && <Failure error={error} />
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack} data-autofocus>
          <Trans>Back</Trans>
        </Button>
        <Button loading={isPending || usage.isLoading} onClick={onConfirm}>
          <Trans>Adjust usage</Trans>
        </Button>
      </Group>
    </Stack>
  );
}

/**
 * Returns a text that names the account, and the key if the adjustment applies to a key. Undefined until the names are
 * loaded.
 */
function useTargetName(accountId: string, keyId: string | null): string | undefined {
  const { t } = useLingui();
  const { data } = useQuery({
    queryKey: ['account', accountId, 'adjusted', keyId],
    queryFn: async () => {
      const account = await unwrap(api.GET('/admin/v1/accounts/{id}', { params: { path: { id: accountId } } }));
      if (keyId === null) return { account: account.name, key: null };
      const key = await unwrap(api.GET('/admin/v1/api-keys/{id}', { params: { path: { id: keyId } } }));
      return { account: account.name, key: key.name };
    },
  });
  if (data === undefined) return undefined;
  const account = isolateName(data.account);
  if (data.key === null) return t`Account: ${account}`;
  const key = isolateName(data.key);
  return t`Account: ${account}. API key: ${key}`;
}

/**
 * Reads the monthly window of the account, or of the key if `keyId` is not null. The data is null if there is no
 * monthly limit.
 */
const useMonthWindow = (accountId: string, keyId: string | null) =>
  useQuery({
    queryKey: ['account', accountId, 'usage', 'month', keyId],
    queryFn: async () => {
      const query = keyId === null ? {} : { api_key_id: keyId };
      const usage = await unwrap(
        api.GET('/admin/v1/accounts/{id}/usage', { params: { path: { id: accountId }, query } }),
      );
      const policy = keyId === null ? 'account-month' : 'key-month';
      return (usage as Usage).windows.find((window) => window.policy === policy) ?? null;
    },
    // Never show cached data in the confirmation.
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

interface EffectProps {
  readonly adjustment: Adjustment;
  /**
   * Monthly window of the account or key. Null if there is no limit. Undefined if the window is not loaded, or if
   * loading failed.
   */
  readonly monthWindow: UsageWindow | null | undefined;
}

/** Effect describes how the adjustment changes the usage or the limit of the month. */
function Effect({ adjustment: { type, amount = 0 }, monthWindow }: EffectProps) {
  const { number } = useFormats();
  const month = useMonthName(monthWindow?.resets_at);
  const count = number(amount);
  const limit = monthWindow === null || monthWindow === undefined ? null : number(monthWindow.limit);
  const used = monthWindow === null || monthWindow === undefined ? null : number(monthWindow.used);
  if (type === 'grant') {
    const raised = number((monthWindow?.limit ?? 0) + amount);
    return limit === null ? (
      <Plural value={amount} one={`Adds # request to ${month}.`} other={`Adds # requests to ${month}.`} />
    ) : (
      <Plural
        value={amount}
        one={`Adds # request to ${month}. The limit becomes ${raised}.`}
        other={`Adds # requests to ${month}. The limit becomes ${raised}.`}
      />
    );
  }
  if (used === null || limit === null)
    return (
      <Trans>
        Sets the requests used in {month} to {count}.
      </Trans>
    );
  return (
    <Trans>
      Sets the requests used in {month} from {used} to {count}. The limit stays {limit}.
    </Trans>
  );
}

/**
 * Returns the name of the current billing month, such as `November`. If billing months do not start on the first,
 * returns `the month until` and the date of the reset. If `resetsAt` is undefined, returns `this month`.
 */
function useMonthName(resetsAt: string | undefined): string {
  const { t, i18n } = useLingui();
  const { date } = useFormats('UTC');
  if (resetsAt === undefined) return t`this month`;
  // The date part of the timestamp is already in the account's time zone.
  const noon = new Date(`${resetsAt.slice(0, 10)}T12:00:00Z`);
  const end = date(noon.toISOString());
  if (noon.getUTCDate() !== 1) return t`the month until ${end}`;
  noon.setUTCDate(0);
  return new Intl.DateTimeFormat(i18n.locales ?? i18n.locale, { month: 'long', timeZone: 'UTC' }).format(noon);
}
