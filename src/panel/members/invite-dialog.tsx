/**
 * Dialog that invites a member. If the address already has an open invitation, the dialog offers to resend that
 * invitation. If the installation cannot send email, the dialog shows the link once.
 */
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { api, unwrap } from '../api/client.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { FormSelect, FormText } from '../layout/form-fields.js';
import { useAccount } from '../session/accounts.js';
import type { Role } from '../../members/permissions.js';
import { InvitationLinkStep, type InvitationLink } from './invitation-link.js';
import { ResendForm, type Invitation } from './resend-dialog.js';
import { useRoleChoice } from './roles.js';

/** Number of recent invitations among which the dialog searches for an open invitation to the same address. */
const MAX_SEARCHED = 100;

interface InviteDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** Finds an open invitation to an email address among the newest invitations. Undefined if there is none. */
async function findOpen(id: string, email: string): Promise<Invitation | undefined> {
  const params = { path: { id }, query: { limit: MAX_SEARCHED } };
  const { data } = await unwrap(api.GET('/admin/v1/accounts/{id}/invitations', { params }));
  return data.find((each) => each.status === 'open' && each.email.toLowerCase() === email.toLowerCase());
}

export function InviteDialog({ opened, onClose, onCreated }: InviteDialogProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  const roles = useRoleChoice();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [made, setMade] = useState<InvitationLink | null>(null);
  const [openInvitation, setOpenInvitation] = useState<Invitation | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const close = (): void => {
    setMade(null);
    setOpenInvitation(null);
    setError(null);
    onClose();
  };
  const showResult = (invitation: InvitationLink): void => {
    setMade(invitation);
    setOpenInvitation(null);
    setEmail('');
    onCreated();
  };
  const invite = async (): Promise<void> => {
    setPending(true);
    setError(null);
    try {
      const existing = await findOpen(id, email.trim());
      if (existing !== undefined) return setOpenInvitation(existing);
      const body = { email: email.trim(), role };
      const invitation = await unwrap(
        api.POST('/admin/v1/accounts/{id}/invitations', { params: { path: { id } }, body }),
      );
      showResult({ email: invitation.email, link: invitation.link ?? null });
    } catch (caught) {
      setError(caught);
    } finally {
      setPending(false);
    }
  };
  return (
    <Dialog opened={opened} title={t`Invite member`} closeOnClickOutside={false} onClose={close}>
      {made !== null ? (
        <InvitationLinkStep invitation={made} onDone={close} />
      ) : openInvitation !== null ? (
        <ResendForm invitation={openInvitation} onCreated={showResult} onCancel={close} />
      ) : (
        <DialogForm
          submitLabel={t`Invite`}
          error={error}
          isPending={isPending}
          checks={{ email: email.trim() === '' && t`Fill this in.` }}
          gap="md"
          onSubmit={() => void invite()}
          onCancel={close}
        >
          <FormText
            field="email"
            label={t`Email`}
            type="email"
            required
            withAsterisk={false}
            data-autofocus
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <FormSelect
            field="role"
            label={t`Role`}
            allowDeselect={false}
            data={roles}
            value={role}
            onChange={(value) => value !== null && setRole(value as Role)}
          />
        </DialogForm>
      )}
    </Dialog>
  );
}
