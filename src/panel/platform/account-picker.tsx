/** Chooses one of very many accounts: what is typed is searched for by the API. */
import { useDebouncedValue } from '@mantine/hooks';
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { FormSelect } from '../layout/form-fields.js';
import { useAccounts } from './accounts.js';

const REST_MS = 200;

interface AccountPickerProps {
  /** The field of the API that it fills in; `id` where the account is part of the path. */
  readonly field: string;
  readonly value: string | null;
  readonly onChange: (id: string | null) => void;
}

export function AccountPicker({ field, value, onChange }: AccountPickerProps) {
  const { t } = useLingui();
  const [search, setSearch] = useState('');
  const [chosen, setChosen] = useState<{ readonly value: string; readonly label: string } | null>(null);
  const [q] = useDebouncedValue(search.trim(), REST_MS);
  // What stands in the field once one was chosen is its name, and narrows nothing.
  const accounts = useAccounts(q === '' || q === chosen?.label ? {} : { q });
  const found = accounts.data?.pages[0]?.data.map(({ id, name }) => ({ value: id, label: name })) ?? [];
  const options = chosen === null || found.some((each) => each.value === chosen.value) ? found : [chosen, ...found];
  return (
    <FormSelect
      field={field}
      label={t`Account`}
      placeholder={t`Search by name or id`}
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
