/**
 * Profile section with a form for name and language. It also shows the email address, which members cannot change
 * themselves.
 */
import { Button, Group, SimpleGrid, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../api/client.js';
import { Form } from '../layout/form.js';
import { FormSelect, FormText } from '../layout/form-fields.js';
import { Section } from '../layout/section.js';
import { refetchMe, useMe } from '../session/session.js';
import { clearStoredLocale, LANGUAGES, LOCALES } from '../words/locale.js';

const BROWSER_DEFAULT = '';

export function Personal() {
  const { t } = useLingui();
  const { member } = useMe();
  const [name, setName] = useState(member?.name ?? '');
  const [picked, setPicked] = useState<string | null>(null);
  const locale = picked ?? member?.locale ?? BROWSER_DEFAULT;
  const chosen = LOCALES.find((each) => each === locale) ?? null;
  const save = useMutation({
    mutationFn: async () => {
      await unwrap(api.PATCH('/admin/v1/me', { body: { name: name.trim(), locale: chosen } }));
      if (chosen === null) clearStoredLocale();
      await refetchMe();
    },
    // Show the stored language again, because the user can also change it in the user menu.
    onSuccess: () => setPicked(null),
  });
  const isChanged = name.trim() !== member?.name || chosen !== member.locale;
  return (
    <Section title={t`About you`}>
      <Form
        error={save.error}
        checks={{ name: name.trim() === '' && t`Fill this in.` }}
        onSubmit={() => save.mutate()}
        footer={
          <Group justify="flex-end">
            {save.isSuccess && !isChanged && (
              <Text size="sm" role="status">
                <Trans>Saved</Trans>
              </Text>
            )}
            <Button type="submit" loading={save.isPending} disabled={!isChanged}>
              <Trans>Save</Trans>
            </Button>
          </Group>
        }
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <FormText
            field="name"
            label={t`Name`}
            description={t`Shown to other members.`}
            autoComplete="name"
            required
            withAsterisk={false}
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <FormSelect
            field="locale"
            label={t`Language`}
            description={t`For the dashboard and emails.`}
            allowDeselect={false}
            data={[
              { value: BROWSER_DEFAULT, label: t`Browser default` },
              ...LOCALES.map((value) => ({ value, label: LANGUAGES[value] })),
            ]}
            value={locale}
            onChange={(value) => setPicked(value ?? BROWSER_DEFAULT)}
          />
        </SimpleGrid>
        <Text size="sm" c="dimmed" className="name">
          <Trans>You sign in as {member?.email}. Contact your API provider to change this.</Trans>
        </Text>
      </Form>
    </Section>
  );
}
