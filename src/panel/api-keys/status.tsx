/** The state of a key, in a word and a colour. */
import { Badge } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import type { KeyStatus } from './keys.js';

const COLORS: Readonly<Record<KeyStatus, string>> = {
  active: 'river',
  paused: 'orange',
  expired: 'gray',
  revoked: 'red',
};

/** The words for the states. */
export function useStatusWords(): Readonly<Record<KeyStatus, string>> {
  const { t } = useLingui();
  return { active: t`Active`, paused: t`Paused`, expired: t`Expired`, revoked: t`Revoked` };
}

export function Status({ status }: { readonly status: KeyStatus }) {
  return (
    <Badge variant="light" color={COLORS[status]} style={{ flexShrink: 0 }}>
      {useStatusWords()[status]}
    </Badge>
  );
}
