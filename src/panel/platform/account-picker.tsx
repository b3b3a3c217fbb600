/**
 * Form field in which the user chooses an account. The API does the search, because there can be very many accounts.
 */
import { useDebouncedValue } from '@mantine/hooks';
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { FormSelect } from '../layout/form-fields.js';
import { useAccounts } from './accounts.js';

/** Delay after the last keystroke before a search, in milliseconds. */
const SEARCH_DELAY_MS = 200;

interface AccountPickerProps {
  /**
   * Name of the field in the API, which connects the field with its errors. `id` if the account is part of the path.
   */
  readonly field: string;
  /** ID of the chosen account. Null if none is chosen. */
  readonly value: string | null;
  readonly onChange: (id: string | null) => void;
}

export function AccountPicker({ field, value, onChange }: AccountPickerProps) {
  const { t } = useLingui();
  const [search, setSearch] = useState('');
  const [chosen, setChosen] = useState<{ readonly value: string; readonly label: string } | null>(null);
  const [q] = useDebouncedValue(search.trim(), SEARCH_DELAY_MS);
  // After a choice, the field contains the name of the chosen account, which is not a search text.
  const accounts = useAccounts(q === '' || q === chosen?.label ? {} : { q });
  const found = accounts.data?.pages[0]?.data.map(({ id, name }) => ({ value: id, label: name })) ?? [];
  const options = chosen === null || found.some((each) => each.value === chosen.value) ? found : [chosen, ...found];
  return (
    <FormSelect
      field={field}
      label={t`Account`}
      placeholder={t`Search by name or ID`}
      searchable
      allowDeselect={false}
      required
      withAsterisk={false}
      data-autofocus
      data={options}
      filter={({ options: all }) => all}
      nothingFoundMessage={accounts.isFetching ? t`Loading` : t`No accounts found`}
      searchValue={search}
      onSearchChange={setSearch}
      value={value}
      onChange={(id) => {
        setChosen(options.find((each) => each.value === id) ?? null);
        onChange(id);
      }}
    />
  );
}
