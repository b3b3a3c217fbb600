/** Chooses a key of an account. The API searches, because there may be very many. */
import { useDebouncedValue } from '@mantine/hooks';
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { isolated } from '../words/isolated.js';
import { useKeys, type KeyFilter, type ListedKey } from '../api-keys/keys.js';

const REST_MS = 200;

const optionOf = ({ id, name, hint }: ListedKey) => ({ value: id, label: `${isolated(name)} (${hint})` });

interface KeyChoice {
  /** The chosen key, once it was listed. */
  readonly chosen: ListedKey | undefined;
  /** Props of a `Select`, except label and `onChange`. */
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

/** Returns the state of a key field. @param filter filter and order of the list before a search. */
export function useKeyChoice(accountId: string, filter: KeyFilter, value: string | null): KeyChoice {
  const { t } = useLingui();
  const [search, setSearch] = useState('');
  const [last, setLast] = useState<ListedKey | undefined>();
  const [q] = useDebouncedValue(search.trim(), REST_MS);
  // After a choice the field contains its name, which must not filter the list.
  const isName = last !== undefined && q === optionOf(last).label;
  const keys = useKeys(accountId, q === '' || isName ? filter : { ...filter, q });
  const found = keys.data?.pages[0]?.data ?? [];
  const listed = found.find(({ id }) => id === value);
  // Keep the choice when a search no longer lists it.
  if (listed !== undefined && listed.id !== last?.id) setLast(listed);
  const chosen = listed ?? (last?.id === value ? last : undefined);
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
