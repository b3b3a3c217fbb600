/** Dialog over the page, with a title and a close button. Dialogs wider than 600 px fill the screen of a phone. */
import { Group, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';

interface DialogProps {
  readonly opened: boolean;
  readonly title: string;
  /** Width in pixels. */
  readonly size?: number;
  readonly zIndex?: number;
  /**
   * Whether a click outside closes the dialog. Default: true. Set false if closing the dialog by accident would lose
   * form values.
   */
  readonly closeOnClickOutside?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function Dialog({
  opened,
  title,
  size = 520,
  zIndex = 200,
  closeOnClickOutside = true,
  onClose,
  children,
}: DialogProps) {
  const { t } = useLingui();
  const isPhone = useMediaQuery('(max-width: 48em)', undefined, { getInitialValueInEffect: false });
  return (
    <Modal.Root
      opened={opened}
      onClose={onClose}
      size={size}
      zIndex={zIndex}
      closeOnClickOutside={closeOnClickOutside}
      fullScreen={isPhone && size > 600}
      centered={size <= 600}
    >
      <Modal.Overlay backgroundOpacity={0.45} blur={2} />
      <Modal.Content radius={isPhone && size > 600 ? 0 : 'lg'}>
        {/* Not Modal.Header: it would add a second banner landmark for screen readers. */}
        <Group justify="space-between" wrap="nowrap" p="lg" pb="sm">
          <Modal.Title fz="1.2rem" fw={650} lh={1.3}>
            {title}
          </Modal.Title>
          <Modal.CloseButton aria-label={t`Close`} />
        </Group>
        <Modal.Body p="lg" pt={0}>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
