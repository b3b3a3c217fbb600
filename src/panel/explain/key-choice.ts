/**
 * Hook for a field in which the user chooses an API key. The API does the search, because an account can have very many
 * keys.
 */
import { useDebouncedValue } from '@mantine/hooks';
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { isolateName } from '../words/isolated.js';
import { useKeys, type KeyFilter, type ListedKey } from '../api-keys/keys.js';

/** Delay after the last keystroke before a search, in milliseconds. */
const SEARCH_DELAY_MS = 200;

const optionOf = ({ id, name, hint }: ListedKey) => ({ value: id, label: `${isolateName(name)} (${hint})` });

interface KeyChoice {
  /** The chosen key. Undefined if none is chosen, or if the key has not been in a list yet. */
  readonly chosen: ListedKey | undefined;
  /** Props for Mantine's `Select`. The caller adds the label and `onChange`. */
  readonly props: {
    readonly searchable: true;
    readonly data: readonly { readonly value: string; readonly label: string }[];
    readonly filter: <Option>(input: { readonly options: Option[] }) => Option[];
    readonly nothingFoundMessage: string;
    readonly searchValue: string;
    readonly onSearchChange: (search: string) => void;
    readonly value: string | null;
  };
}

/**
 * Returns the chosen key, and the props of the field.
 * @param filter filter and sort order of the list.
 * @param value ID of the chosen key; null: none.
 */
export function useKeyChoice(accountId: string, filter: KeyFilter, value: string | null): KeyChoice {
  const { t } = useLingui();
  const [search, setSearch] = useState('');
  const [lastListed, setLastListed] = useState<ListedKey | undefined>();
  const [q] = useDebouncedValue(search.trim(), SEARCH_DELAY_MS);
  // After a choice, the field contains the label of the chosen key, which is not a search text.
  const isChosenLabel = lastListed !== undefined && q === optionOf(lastListed).label;
  const keys = useKeys(accountId, q === '' || isChosenLabel ? filter : { ...filter, q });
  const found = keys.data?.pages[0]?.data ?? [];
  const listed = found.find(({ id }) => id === value);
  // Remember the chosen key, because the result of the next search may not contain it.
  if (listed !== undefined && listed.id !== lastListed?.id) setLastListed(listed);
  const chosen = listed ?? (lastListed?.id === value ? lastListed : undefined);
  const options = chosen === undefined || listed !== undefined ? found : [chosen, ...found];
  return {
    chosen,
    props: {
      searchable: true,
      data: options.map(optionOf),
      filter: ({ options: all }) => all,
      nothingFoundMessage: keys.isFetching ? t`Loading` : t`No matching keys`,
      searchValue: search,
      onSearchChange: setSearch,
      value: chosen?.id ?? null,
    },
  };
}
