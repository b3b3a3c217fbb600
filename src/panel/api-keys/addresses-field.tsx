/**
 * Form field for the IP addresses and CIDR blocks from which a key or access token works. An empty list allows every
 * address.
 */
import { TagsInput } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';

interface AddressesFieldProps {
  readonly value: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (addresses: readonly string[]) => void;
}

export function AddressesField({ value, error, onChange }: AddressesFieldProps) {
  const { t } = useLingui();
  return (
    <TagsInput
      label={t`Allowed IP addresses`}
      description={t`Leave empty to allow any IP. Press Enter to add.`}
      placeholder={value.length === 0 ? '203.0.113.7' : ''}
      value={[...value]}
      error={error}
      splitChars={[',', ' ']}
      acceptValueOnBlur
      onChange={onChange}
    />
  );
}
