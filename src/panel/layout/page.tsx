/** Layout of a page: title, description, actions and content. The component also sets the title of the browser tab. */
import { Box, Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';
import { Breakable } from '../words/breakable.js';

interface PageProps {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** Content above the title, such as a link back to the list. */
  readonly above?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, description, actions, above, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Trailgate`;
  }, [title]);
  return (
    <Stack gap="lg">
      <Box>
        {above}
        <Group justify="space-between" align="flex-start" gap="md">
          <Box maw={680} flex="1 1 220px">
            <Title order={1} className="name">
              <Breakable text={title} />
            </Title>
            {description !== undefined && (
              <Text c="dimmed" mt={6}>
                {description}
              </Text>
            )}
          </Box>
          {actions !== undefined && <Group gap="sm">{actions}</Group>}
        </Group>
      </Box>
      {children}
    </Stack>
  );
}
