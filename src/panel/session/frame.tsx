/**
 * Layout of pages without navigation, such as sign-in and consent. It shows the logo, one card and a language switch,
 * and sets the title of the browser tab.
 */
import { Box, Card, Center, Stack, Text, Title } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useEffect, type ReactNode } from 'react';
import { storeLocale, LANGUAGES, LOCALES } from '../words/locale.js';
import { Brand } from '../layout/brand.js';

interface FrameProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}

export function Frame({ title, about, children }: FrameProps) {
  const { i18n } = useLingui();
  useEffect(() => {
    document.title = `${title} · Trailgate`;
  }, [title]);
  const other = LOCALES.find((locale) => locale !== i18n.locale) ?? 'en';
  return (
    <Center mih="100dvh" p="md" component="main">
      <Stack w="100%" maw={420} gap="lg" align="center">
        <Brand size={36} />
        <Card w="100%" padding="xl" shadow="sm">
          <Stack gap="lg">
            <Box>
              <Title order={1} fz="1.4rem">
                {title}
              </Title>
              {about !== undefined && (
                <Text c="dimmed" mt={6}>
                  {about}
                </Text>
              )}
            </Box>
            {children}
          </Stack>
        </Card>
        <Text
          component="button"
          type="button"
          className="plain"
          size="sm"
          c="dimmed"
          lang={other}
          onClick={() => void storeLocale(other)}
        >
          {LANGUAGES[other]}
        </Text>
      </Stack>
    </Center>
  );
}
