/** User menu in the header: profile, theme, language and sign-out. */
import {
  ActionIcon,
  Avatar,
  Box,
  Divider,
  NavLink,
  Popover,
  SegmentedControl,
  Text,
  useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { storeLocale, LANGUAGES, LOCALES, type Locale } from '../words/locale.js';
import { api, unwrap } from '../api/client.js';
import { mayCall } from '../session/permissions.js';
import { refetchMe, signOut, useMe } from '../session/session.js';
import { Failure } from '../words/failure.js';
import { Icon } from '../layout/icons.js';

export function UserMenu() {
  const { t, i18n } = useLingui();
  const me = useMe();
  const { member, portal } = me;
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [isOpen, setOpen] = useState(false);
  const leave = useMutation({ mutationFn: signOut });
  const changeLanguage = useMutation({
    mutationFn: async (locale: Locale) => {
      await storeLocale(locale);
      if (member === null) return;
      // Also store the language in the profile. Otherwise, the next read of the profile would restore the previous
      // language.
      await unwrap(api.PATCH('/admin/v1/me', { body: { locale } }));
      await refetchMe();
    },
  });
  const name = member?.name || member?.email || portal?.label || '';
  return (
    <Popover
      width={280}
      position="bottom-end"
      trapFocus
      returnFocus
      withRoles={false}
      opened={isOpen}
      onChange={setOpen}
    >
      <Popover.Target>
        <ActionIcon variant="subtle" size={40} radius="xl" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Avatar name={name} color="river" variant="filled" size={34} />
          <VisuallyHidden>
            <Trans>Account menu</Trans>
          </VisuallyHidden>
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p={6} role="dialog" aria-label={t`Account menu`}>
        <Box px="sm" py={8}>
          <Text fw={600} className="name">
            {name}
          </Text>
          {member !== null && (
            <Text size="sm" c="dimmed" className="name">
              {member.email}
            </Text>
          )}
        </Box>
        {mayCall(me, 'updateMe', null) && (
          <NavLink
            component={Link}
            href="/profile"
            bdrs="md"
            leftSection={<Icon name="person" />}
            label={t`Your profile`}
            onClick={() => setOpen(false)}
          />
        )}
        <Divider my={6} />
        <Box px="sm" py={6}>
          <Text size="xs" fw={600} c="dimmed" pb={4}>
            <Trans>Theme</Trans>
          </Text>
          <SegmentedControl
            fullWidth
            size="xs"
            aria-label={t`Theme`}
            value={colorScheme}
            onChange={(value) => setColorScheme(value as typeof colorScheme)}
            data={[
              { value: 'light', label: t`Light` },
              { value: 'dark', label: t`Dark` },
              { value: 'auto', label: t`System` },
            ]}
          />
          <Text size="xs" fw={600} c="dimmed" pt="sm" pb={4}>
            <Trans>Language</Trans>
          </Text>
          <SegmentedControl
            fullWidth
            size="xs"
            aria-label={t`Language`}
            value={i18n.locale}
            onChange={(value) => changeLanguage.mutate(LOCALES.find((each) => each === value) ?? 'en')}
            data={LOCALES.map((value) => ({ value, label: LANGUAGES[value] }))}
          />
          {changeLanguage.error !== null && <Failure error={changeLanguage.error} />}
        </Box>
        <Divider my={6} />
        {portal !== null && (
          <NavLink component="a" href={portal.return_url} leftSection={<Icon name="left" />} label={t`Back`} />
        )}
        <NavLink
          component="button"
          bdrs="md"
          leftSection={<Icon name="leave" />}
          disabled={leave.isPending}
          onClick={() => leave.mutate()}
          label={t`Sign out`}
        />
        {leave.error !== null && <Failure error={leave.error} />}
      </Popover.Dropdown>
    </Popover>
  );
}
