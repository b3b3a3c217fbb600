/** Logo and name of the product. */
import { Group, Text } from '@mantine/core';

export function Brand({ size = 28 }: { readonly size?: number }) {
  return (
    <Group gap={10} wrap="nowrap">
      <img src="/favicon.svg" alt="" width={size} height={size} />
      <Text fw={700} fz={size * 0.64} lts="-0.01em">
        Trailgate
      </Text>
    </Group>
  );
}
