import type { notice as english } from '../en/notice.ts';
import { germanQuotes, type LocaleFormatters } from '../formatters.ts';

const approvals = (need: number): string => (need === 1 ? 'die Freigabe' : `die Freigabe durch ${need} Personen`);

export const notice = (to: LocaleFormatters): ReturnType<typeof english> => {
  const quoted = germanQuotes(to);
  return {
    subjects: {
      failed: 'Fehlgeschlagen',
      held: 'Angehalten',
      wrong_figures: 'Falsche Zahlen',
      partial: 'Teilweise zugestellt',
      denied: 'An niemanden gesendet',
      comments: 'Kommentare nötig',
      incomplete: 'Angehalten',
      approval: 'Freigabe nötig',
      reminder: 'Erinnerung, Freigabe nötig',
      recipient: 'Freigabe eines Empfängers nötig',
      rejected: 'Zurückgewiesen',
      cancelled: 'Abgebrochen',
      correction: 'Zahlen geändert',
      late: 'Verspätet',
    },
    report: (title, period) => `${quoted(title)} für ${period}`,
    leads: {
      failed: 'ist fehlgeschlagen. Der Lauf wird nicht von selbst wiederholt.',
      held: 'wurde erstellt und ist angehalten. Es wurde nichts versendet.',
      wrong_figures: 'hat Zahlen, die nicht stimmen können. Der Lauf wurde nicht angehalten.',
      partial: 'wurde erstellt, aber nicht allen zugestellt.',
      denied: 'wurde erstellt und an niemanden gesendet.',
      comments: 'wurde erstellt und wartet auf Kommentare. Es wurde nichts versendet.',
      incomplete: 'wurde erstellt und ist angehalten, weil die Zahlen unvollständig sind. Es wurde nichts versendet.',
      cancelled: 'wurde abgebrochen. Es wurde nichts versendet.',
      late: 'ist verspätet und noch nicht versendet. Der Lauf geht von selbst weiter.',
    },
    waits: (need) => `wartet auf ${approvals(need)}. Es wurde nichts versendet.`,
    stillWaits: (need) => `wartet noch auf ${approvals(need)}. Es wurde nichts versendet.`,
    recipientAdded: (name, address) =>
      `wurde zugestellt. ${name} möchte den Bericht auch an ${address} senden, was eine Freigabe braucht. Dorthin wurde nichts versendet.`,
    rejectedBy: (name) => `wurde von ${name} zurückgewiesen. Es wurde nichts versendet.`,
    changed: (figures, report, recipients) =>
      `Der Dienst hat ${figures === 1 ? '1 Wert' : `${to.number(figures)} Werte`} von ${report} geändert, seit der Bericht ${recipients === 1 ? '1 Person' : `${to.number(recipients)} Personen`} zugestellt wurde.`,

    error: 'Grund (Meldung von Docket, englisch):',
    errorLines: { where: 'wo', expected: 'erwartet', got: 'erhalten', next: 'was zu tun ist' },
    reason: 'Grund:',
    notDelivered: 'Nicht zugestellt:',
    retryDeliveries: 'Um nur diese Zustellungen mit denselben Dateien zu wiederholen:',
    uncertain: 'Zustellung ungewiss:',
    askRecipients:
      'Docket versendet diese nicht von selbst noch einmal, weil sie angekommen sein können. Fragen Sie bei den Empfängern nach. Bestätigen Sie, was angekommen ist:',
    resendOthers: 'Versenden Sie die anderen einzeln noch einmal:',
    decideAll: 'Oder bestätigen Sie, dass alle angekommen sind:',
    delivered: 'Zugestellt:',
    nothingDelivered: 'Es wurde nichts zugestellt.',
    writeComment: 'Um einen Kommentar zu schreiben:',
    release: 'Um den Bericht unverändert zu versenden:',
    retry: 'Um den Lauf zu wiederholen, wenn die Ursache behoben ist:',
    missingComments: 'Abschnitte, die einen Kommentar brauchen:',
    writeOne: 'Um einen zu schreiben:',
    writeOnPage: 'Schreiben Sie sie auf dieser Seite oder mit:',
    accept: 'Um die Zahlen unverändert zu akzeptieren:',
    deputyOf: (approver, by, until) =>
      `${by} hat Sie zur Stellvertretung von ${approver} bestimmt${until === undefined ? '' : `, bis ${until}`}:`,
    decideBy: 'Bitte entscheiden Sie bis:',
    deadlineWas: 'Die Frist war:',
    fetchedAgain: 'Die Zahlen werden noch einmal abgerufen, und der Bericht wird noch einmal geprüft.',
    runAgainCorrected: 'Um den Bericht noch einmal zu erstellen, wenn die Ursache behoben ist:',
    runAgain: 'Um den Bericht noch einmal zu erstellen:',
    look: 'Um zu sehen, was wartet:',
    lookOnPage: 'Die Dateien finden Sie auf dieser Seite. Im Terminal:',
    notApproved: (days) => `Nicht innerhalb von ${days === 1 ? '1 Arbeitstag' : `${days} Arbeitstagen`} freigegeben.`,
    untilDecided: 'Es wird nichts versendet, bis jemand entscheidet:',
    capped: (editions) =>
      `Docket hat für diese Periode ${editions} korrigierte Ausgaben von selbst versendet und versendet keine weitere: Der Dienst ändert seine Zahlen womöglich hin und her.`,
    seeChanges: 'Sehen Sie, was sich geändert hat und wer eine korrigierte Ausgabe bekäme:',
    sendCorrected: 'Versenden Sie die korrigierte Ausgabe:',
    dismiss: 'Oder lassen Sie die zugestellte gelten:',

    facts: { report: 'Bericht', run: 'Lauf', slot: 'Termin', changes: 'Änderungen', found: 'Gefunden' },
    changes: (total, material) => (total === material ? String(total) : `${total}, davon ${material} wesentliche`),
    onPage: 'Der Lauf auf der Seite von Docket:',
    closings: {
      owner: 'Sie erhalten diese Nachricht einmal, weil Sie für den Bericht verantwortlich sind.',
      approver:
        'Sie erhalten diese Nachricht, weil Sie den Bericht freigeben dürfen. Melden Sie sich an, um ihn freizugeben oder zurückzuweisen.',
      author: 'Sie erhalten diese Nachricht, weil Sie für den Bericht verantwortlich sind oder ihn ausgelöst haben.',
    },
    dayFormat: 'cccc, d. LLLL yyyy',
    timeFormat: "cccc, d. LLLL yyyy 'um' HH:mm",
    endOf: (day) => `${day}, 24:00`,

    fileLinks: (until) =>
      `Die Dateien sind zu gross für eine E-Mail und sind nicht angehängt. Laden Sie sie hier herunter${until === undefined ? '' : `, bis ${until}, mit dieser E-Mail auch ohne Anmeldung`}:`,
  };
};
