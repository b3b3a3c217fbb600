/** Empty state of a list or page. It says why there is nothing to see, and what to do next. */
import { Card, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons.js';

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  readonly action?: ReactNode;
  /** Whether the empty state fills the page. If true, its title is the page heading (`h1`). */
  readonly isPage?: boolean;
}

export function Empty({ icon, title, text, action, isPage = false }: EmptyProps) {
  return (
    <Card py={48}>
      <Stack align="center" gap="sm" ta="center">
        <ThemeIcon size={56} radius="xl" variant="light">
          <Icon name={icon} size={28} />
        </ThemeIcon>
        <Title order={isPage ? 1 : 2}>{title}</Title>
        <Text c="dimmed" maw={460}>
          {text}
        </Text>
        {action}
      </Stack>
    </Card>
  );
}
