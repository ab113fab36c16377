"""What both ends of a study at hospitals read: registrations, the invitation, certificates, the connection."""
