/** Controls above the list of API keys: search, status, environment and sort order. */
import { Group, Select, TextInput } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { Icon } from '../layout/icons.js';
import type { KeyFilter } from './keys.js';
import { useStatusLabels } from './status.js';

/** Default status filter. It excludes expired and revoked keys. */
export const DEFAULT_STATUS = 'active,paused';
const ALL_STATUSES = 'active,paused,expired,revoked';

/** API sort parameters of each choice in the sort menu. */
export const ORDERS = {
  newest: { sort: 'created', order: 'desc' },
  name: { sort: 'name', order: 'asc' },
  used: { sort: 'last_used', order: 'desc' },
  unused: { sort: 'last_used', order: 'asc' },
} as const satisfies Record<string, KeyFilter>;

export type Order = keyof typeof ORDERS;

/** Chosen search text, filters and sort order. */
export interface Chosen {
  readonly search: string;
  readonly status: string;
  readonly environment: 'live' | 'test' | 'both';
  readonly order: Order;
}

interface KeyFiltersProps {
  readonly chosen: Chosen;
  readonly onChoose: (change: Partial<Chosen>) => void;
}

export function KeyFilters({ chosen, onChoose }: KeyFiltersProps) {
  const { t } = useLingui();
  const words = useStatusLabels();
  return (
    <Group gap="sm">
      <TextInput
        flex={{ base: '1 1 100%', md: '1 1 220px' }}
        type="search"
        aria-label={t`Search keys`}
        placeholder={t`Search by name or last four characters`}
        leftSection={<Icon name="search" size={16} />}
        maxLength={200}
        value={chosen.search}
        onChange={(event) => onChoose({ search: event.currentTarget.value })}
      />
      <Select
        flex={{ base: '1 1 180px', md: '0 0 190px' }}
        aria-label={t`Status`}
        allowDeselect={false}
        data={[
          { value: DEFAULT_STATUS, label: t`Active and paused` },
          { value: 'active', label: words.active },
          { value: 'paused', label: words.paused },
          { value: 'expired', label: words.expired },
          { value: 'revoked', label: words.revoked },
          { value: ALL_STATUSES, label: t`All statuses` },
        ]}
        value={chosen.status}
        onChange={(status) => status !== null && onChoose({ status })}
      />
      <Select
        flex={{ base: '1 1 180px', md: '0 0 200px' }}
        aria-label={t`Environment`}
        allowDeselect={false}
        data={[
          { value: 'both', label: t`Live and test` },
          { value: 'live', label: t`Live` },
          { value: 'test', label: t`Test` },
        ]}
        value={chosen.environment}
        onChange={(value) => onChoose({ environment: value === 'live' || value === 'test' ? value : 'both' })}
      />
      <Select
        flex={{ base: '1 1 180px', md: '0 0 225px' }}
        aria-label={t`Order`}
        allowDeselect={false}
        data={[
          { value: 'newest', label: t`Newest first` },
          { value: 'name', label: t`By name` },
          { value: 'used', label: t`Recently used` },
          { value: 'unused', label: t`Least recently used` },
        ]}
        value={chosen.order}
        onChange={(value) => value !== null && value in ORDERS && onChoose({ order: value as Order })}
      />
    </Group>
  );
}
