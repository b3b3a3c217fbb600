/** Footer of a step that shows something once. It closes after the user confirms that it is saved. */
import { Button, Checkbox, Group } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';

interface StoredFooterProps {
  /** Text of the checkbox. */
  readonly label: string;
  readonly onDone: () => void;
}

export function StoredFooter({ label, onDone }: StoredFooterProps) {
  const [isStored, setStored] = useState(false);
  return (
    <Group justify="space-between">
      <Checkbox label={label} checked={isStored} onChange={(event) => setStored(event.currentTarget.checked)} />
      <Button disabled={!isStored} onClick={onDone}>
        <Trans>Done</Trans>
      </Button>
    </Group>
  );
}
