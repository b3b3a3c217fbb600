/**
 * Form field for the scopes of a key: buttons for common selections, and a checkbox for each scope. If the scopes
 * cannot be loaded, an error box replaces the field.
 */
import { Button, Card, Checkbox, Fieldset, Group, Input, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useFieldError } from '../layout/form-errors.js';
import { Failure } from '../words/failure.js';
import { useScopes } from './keys.js';
import { EVERYTHING, scopeGroups, useScopeLabels } from './scopes.js';

interface ScopePickerProps {
  readonly value: readonly string[];
  /** Scopes to which the choice is limited. Null: no limit. */
  readonly granted: readonly string[] | null;
  readonly onChange: (scopes: readonly string[]) => void;
}

export function ScopePicker({ value, granted, onChange }: ScopePickerProps) {
  const { t, i18n } = useLingui();
  const error = useFieldError('scopes');
  const scopes = useScopes();
  const words = useScopeLabels();
  if (scopes.data === undefined)
    return scopes.error === null ? (
      <Skeleton h={120} />
    ) : (
      <Failure error={scopes.error} again={() => void scopes.refetch()} />
    );
  const isOffered = (scope: string): boolean => granted === null || granted.includes(scope);
  const groups = scopeGroups(
    scopes.data.data.filter(({ scope }) => isOffered(scope)),
    i18n.locale,
  );
  const choices = groups.flatMap((group) => group.scopes);
  const singleScopes = choices.map(({ scope }) => scope);
  const readScopes = choices.filter(({ read_only: readOnly }) => readOnly).map(({ scope }) => scope);
  // Unknown scopes come from the page's URL or an older version of the API. The picker shows them, so that the user can
  // remove them.
  const grantedOrChosen = [...new Set([...(granted ?? []), ...value])];
  const unlisted = grantedOrChosen.filter((scope) => scope !== EVERYTHING && !singleScopes.includes(scope));
  const hasAll = value.includes(EVERYTHING);
  return (
    <Fieldset legend={t`Permissions`} variant="unstyled" classNames={{ legend: 'label' }} m={0}>
      <Stack gap="sm" pt={4}>
        <Group gap="xs">
          <Button size="xs" variant="default" disabled={readScopes.length === 0} onClick={() => onChange(readScopes)}>
            <Trans>Read only</Trans>
          </Button>
          <Button size="xs" variant="default" onClick={() => onChange(singleScopes)}>
            <Trans>Select all</Trans>
          </Button>
          <Button size="xs" variant="default" disabled={value.length === 0} onClick={() => onChange([])}>
            <Trans>Clear</Trans>
          </Button>
        </Group>
        <Checkbox.Group value={[...value]} onChange={onChange}>
          <Stack gap="sm">
            {groups.map((group) => (
              <Card key={group.name} padding="md" radius="md">
                <Text fw={600} size="sm" pb={8} id={`scopes-${group.name}`}>
                  {group.name}
                </Text>
                <Stack gap={10} role="group" aria-labelledby={`scopes-${group.name}`}>
                  {group.scopes.map(({ scope }) => (
                    <Checkbox
                      key={scope}
                      value={scope}
                      label={words.long(scope)}
                      disabled={hasAll}
                      description={scope}
                    />
                  ))}
                </Stack>
              </Card>
            ))}
            {unlisted.map((scope) => (
              <Checkbox key={scope} value={scope} label={words.long(scope)} description={scope} />
            ))}
            {isOffered(EVERYTHING) && (
              <Checkbox
                value={EVERYTHING}
                label={t`Full access, including future permissions`}
                description={t`Use only for trusted internal tools. Anyone with this key can do anything.`}
              />
            )}
          </Stack>
        </Checkbox.Group>
        {error !== undefined && <Input.Error>{error}</Input.Error>}
      </Stack>
    </Fieldset>
  );
}
