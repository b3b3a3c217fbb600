/** Shows the `metadata` of an object as names and values. The operator's programs set the metadata through the API. */
import { Box, Text } from '@mantine/core';

type Entries = Readonly<Record<string, string>>;

export function hasEntries(entries: Entries): boolean {
  return Object.keys(entries).length > 0;
}

export function Metadata({ entries }: { readonly entries: Entries }) {
  return Object.entries(entries).map(([name, value]) => (
    <Box key={name}>
      <Text size="xs" c="dimmed" className="name">
        <bdi>{name}</bdi>
      </Text>
      <Text className="name">
        <bdi>{value}</bdi>
      </Text>
    </Box>
  ));
}
