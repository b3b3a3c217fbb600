/**
 * Dialog that resends an open invitation with a new link. The dialog first warns that the previous link stops working.
 */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useRoleLabels } from './roles.js';
import { InvitationLinkStep, type InvitationLink } from './invitation-link.js';

export type Invitation = components['schemas']['Invitation'];

interface ResendFormProps {
  readonly invitation: Invitation;
  readonly onCreated: (made: InvitationLink) => void;
  readonly onCancel: () => void;
}

/** ResendForm asks for confirmation and resends the invitation. The invite dialog also uses this form. */
export function ResendForm({ invitation, onCreated, onCancel }: ResendFormProps) {
  const { t } = useLingui();
  const { error, isPending, send } = useIdempotentRequest();
  const role = useRoleLabels()[invitation.role];
  const resend = () =>
    send(async () => {
      const params = { path: { id: invitation.id } };
      const { email, link } = await unwrap(api.POST('/admin/v1/invitations/{id}/resend', { params }));
      onCreated({ email, link });
    });
  return (
    <DialogForm
      submitLabel={t`Resend`}
      error={error}
      isPending={isPending}
      onSubmit={() => void resend()}
      onCancel={onCancel}
    >
      <Text className="name">
        <Trans>
          {invitation.email} is already invited ({role}). Resending makes a new link. The previous link stops working.
        </Trans>
      </Text>
    </DialogForm>
  );
}

interface ResendDialogProps {
  /** Invitation to resend. Null closes the dialog, except while the dialog shows a new link. */
  readonly invitation: Invitation | null;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

export function ResendDialog({ invitation, onClose, onCreated }: ResendDialogProps) {
  const { t } = useLingui();
  const [made, setMade] = useState<InvitationLink | null>(null);
  const close = (): void => {
    setMade(null);
    onClose();
  };
  return (
    <Dialog
      opened={invitation !== null || made !== null}
      title={t`Resend the invitation`}
      closeOnClickOutside={made === null}
      onClose={close}
    >
      {made !== null && <InvitationLinkStep invitation={made} onDone={close} />}
      {made === null && invitation !== null && (
        <ResendForm
          invitation={invitation}
          onCreated={(sent) => {
            setMade(sent);
            onCreated();
          }}
          onCancel={close}
        />
      )}
    </Dialog>
  );
}
