/** Section of a page, as a card with title, description, actions and content. */
import { Box, Card, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SectionProps {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

export function Section({ title, description, actions, children }: SectionProps) {
  return (
    <Card component="section" aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="md">
        <Box maw={620} flex="1 1 260px">
          <Title order={2}>{title}</Title>
          {description !== undefined && (
            <Text size="sm" c="dimmed" mt={4}>
              {description}
            </Text>
          )}
        </Box>
        {actions !== undefined && <Group gap="sm">{actions}</Group>}
      </Group>
      {children !== undefined && <Box pt="md">{children}</Box>}
    </Card>
  );
}
