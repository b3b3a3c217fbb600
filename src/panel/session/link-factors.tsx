/**
 * Shows which sign-in methods a password reset removes, and that the authenticator app stays. The member can thus
 * notice methods that a stranger added.
 */
import { Alert, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { Link } from '../api/schemas.js';
import { Icon } from '../layout/icons.js';
import { isolateName } from '../words/isolated.js';
import { useFormats } from '../words/times.js';

type Factor = Link['factors'][number];

export function LinkFactors({ factors }: { readonly factors: readonly Factor[] }) {
  const { t } = useLingui();
  const { date } = useFormats();
  const removed = factors.filter(({ is_removed: isRemoved }) => isRemoved);
  const app = factors.find(({ type }) => type === 'totp');
  const added = app === undefined ? '' : date(app.created_at);
  return (
    <>
      {removed.length > 0 && (
        <Alert
          color="orange"
          variant="light"
          icon={<Icon name="warn" />}
          title={t`Saving removes these sign-in methods`}
        >
          <Stack gap="xs">
            <Stack gap={6} component="ul" className="plain-list" aria-label={t`Sign-in methods that are removed`}>
              {removed.map((factor) => (
                <Line key={`${factor.type} ${factor.created_at} ${factor.name}`} factor={factor} />
              ))}
            </Stack>
            <Text size="sm">
              <Trans>
                Add yours again in your profile. If you don't recognize one, someone else may have used this sign-in.
              </Trans>
            </Text>
          </Stack>
        </Alert>
      )}
      {app !== undefined && (
        <Text size="sm">
          <Trans>
            The authenticator app added on {added} stays. You need a code from it to sign in. If it is not yours, ask an
            operator of this installation to remove it.
          </Trans>
        </Text>
      )}
    </>
  );
}

function Line({ factor }: { readonly factor: Factor }) {
  const { t } = useLingui();
  const { date, relative } = useFormats();
  const { type, name, issuer, last_used_at: lastUsed } = factor;
  const host = issuer !== null && URL.canParse(issuer) ? new URL(issuer).host : (issuer ?? '');
  const shown = isolateName(name === '' ? host : name);
  const added = date(factor.created_at);
  return (
    <li>
      <Text size="sm" fw={600} className="name">
        {type === 'passkey' ? t`Passkey ${shown}` : t`Linked sign-in ${shown}`}
      </Text>
      <Text size="sm" className="name">
        {type === 'identity' && name !== '' && `${host} · `}
        <Trans>Added on {added}</Trans>
        {' · '}
        {lastUsed === null ? t`Never used` : t`Last used: ${relative(lastUsed)}`}
      </Text>
    </li>
  );
}
