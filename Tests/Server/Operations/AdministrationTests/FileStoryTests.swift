import Foundation
import Operations
import Store
import SyncProtocol
import Testing

@Suite("The history of a file")
struct FileStoryTests {
    private func story(
        _ damage: String = "", of file: FileUUID = AdministrationFixture.photo, clouds: [CloudAnswer]? = nil
    ) throws -> FileStory {
        let fixture = try AdministrationFixture()
        if !damage.isEmpty { try fixture.run(damage) }
        return FileStory(
            try fixture.store.snapshot { try $0.evidence(of: file, at: AdministrationFixture.now) }, clouds: clouds)
    }

    private func answer(_ finding: CloudAnswer.Finding, _ detail: String? = nil) throws -> [CloudAnswer] {
        let group = try #require(SharingGroupUUID(AdministrationFixture.group))
        return [
            CloudAnswer(
                sharingGroupUUID: group, finding: finding, detail: detail, askedAt: AdministrationFixture.now)
        ]
    }

    @Test("A file with one version: uploader, location of the bytes, pending work, and the phones' view")
    func oneVersion() throws {
        let text = try story().text

        #expect(text.contains("belongs to group “Holidays”"))
        #expect(text.contains("members are Alice Example (Google, user 1), Bob Example (Facebook, user 2)."))
        #expect(text.contains("2026-02-01T00:00:00Z: Alice Example (Google, user 1) on device"))
        #expect(text.contains("uploaded version 0, 2.0 KiB of image/jpeg"))
        #expect(text.contains("in the Google storage of Alice Example (Google, user 1), as object object-1"))
        #expect(text.contains("Bob Example (Facebook, user 2) changed the metadata to version 0"))
        #expect(text.contains("waits for DoneUploads, and nobody else sees it"))
        #expect(text.contains("Now: phones in group “Holidays”"))
        #expect(text.contains("see version 0 at master version 5"))
        #expect(!text.contains("secret"))
    }

    @Test("A file that waits for its bytes after an account switch: reason, replies to phones, and remedy")
    func awaiting() throws {
        let text = try story(
            """
            UPDATE files SET content_state = 'awaiting', object_id = NULL WHERE NOT is_deleted;
            UPDATE users SET account_epoch = 1
            """
        ).text

        #expect(text.contains("were in an account that Alice Example (Google, user 1) has switched away from"))
        #expect(text.contains("get the reply gone: authTokenExpiredOrRevoked, awaitingReupload"))
        #expect(text.contains("uploads it again (ReuploadFile)"))
    }

    @Test("A deleted file: master version, the user who deleted it if known, and how to restore it")
    func deleted() throws {
        let file = FileUUID("F0F0F0F0-0000-4000-8000-000000000002")!

        let unknown = try story(of: file).text
        let known = try story(
            """
            INSERT INTO commits VALUES (2, 'DDDDDDDD-0000-4000-8000-000000000002', 1,
                   'CCCCCCCC-0000-4000-8000-000000000001', REPEAT('h', 32), 5, 1, '2026-02-03 04:05:06')
            """, of: file
        ).text

        #expect(unknown.contains("was deleted with master version 5; there is no longer a record of who did it"))
        #expect(
            known.contains("master version 5, committed by Bob Example (Facebook, user 2) at 2026-02-03T04:05:06Z"))
        #expect(unknown.contains("uploading version 2"))
        #expect(unknown.contains("the server no longer has a record of them"))
        #expect(unknown.contains("there is no record of who uploaded version 0"))
    }

    @Test("Work on the file's object is listed with the storage's owner")
    func work() throws {
        let text = try story("UPDATE outbox SET object_id = 'object-1', attempts = 3, request_id = '0a1b'").text

        #expect(text.contains("In the outbox, job 1: delete object object-1 from the Google storage of Alice Example"))
        #expect(text.contains("unless something needs it, for request 0a1b; 3 attempts so far."))
    }

    @Test("A file whose owner was removed is reported as broken")
    func ownerGone() throws {
        let text = try story("UPDATE files SET owning_user_id = 99").text

        #expect(text.contains("user 99, who has left"))
        #expect(text.contains("BUT the owner is not in the group"))
    }

    @Test("Events are listed in chronological order, including replies to phones, followed by the current state")
    func order() throws {
        let story = try story(
            """
            UPDATE files SET file_version = 1, updated_at = '2026-02-10', changed_at_master_version = 5;
            INSERT INTO commits VALUES (2, 'DDDDDDDD-0000-4000-8000-000000000002', 1,
                   'CCCCCCCC-0000-4000-8000-000000000001', REPEAT('h', 32), 5, 1, '2026-02-10 00:00:01');
            INSERT INTO gone_contents VALUES
                   (1, '\(AdministrationFixture.photo.rawValue)', 'fileRemovedOrRenamed', 1, '2026-02-20', '2026-03-05', 7,
                    '0a1b')
            """, clouds: try answer(.missing))
        let text = story.text

        let moments = [
            "2026-02-01T00:00:00Z: version 0 was uploaded", "2026-02-10T00:00:00Z:", "at 2026-02-10T00:00:01Z",
            "2026-02-20T00:00:00Z: the server found that the contents were gone", "2026-03-01T00:00:00Z: Bob Example",
            "checked now", "Now:", "what can be done",
        ].map { text.range(of: $0)?.lowerBound }
        #expect(!moments.contains(nil), "\(text)")
        let known = moments.compactMap(\.self)
        #expect(known == known.sorted(), "\(text)")
        #expect(text.contains("as were 7 requests in total, the last at 2026-03-05T00:00:00Z (request 0a1b"))
    }

    @Test(
        "Each result from the storage is explained, with the reply that phones get now and with remedies",
        arguments: [
            (CloudAnswer.Finding.present, "as they were uploaded", "download it from Alice", nil),
            (.alike, "contents of the uploaded size", "if the contents differ", "--read"),
            (.inBin, "in the bin of the Google storage of Alice", "download it from Alice", "restores"),
            (.changed, "differ from those uploaded (why)", "contentsChanged", "earlier revision"),
            (.replaced, "another one has its name (why)", "gets the object with that name", nil),
            (
                .missing, "Alice Example (Google, user 1), or another person",
                "get the reply gone: fileRemovedOrRenamed", "restores it"
            ),
            (.refused, "denies this server access", "get the reply gone: authTokenExpiredOrRevoked", "signs in again"),
            (.unavailable, "could not be asked (why)", "if the server can reach it", "--deadline 60"),
        ] as [(CloudAnswer.Finding, String, String, String?)])
    func answers(finding: CloudAnswer.Finding, said: String, seen: String, remedy: String?) throws {
        let hasDetail = [CloudAnswer.Finding.changed, .replaced, .unavailable].contains(finding)
        let story = try story(clouds: try answer(finding, hasDetail ? "why" : nil))

        let present = story.sentences.suffix(2)
        #expect(present.first?.contains(said) == true, "\(story.text)")
        #expect(present.last?.contains(seen) == true, "\(story.text)")
        #expect(story.remedies.isEmpty == (remedy == nil))
        if let remedy { #expect(story.remedies.contains { $0.contains(remedy) }, "\(story.text)") }
    }

    @Test("A storage that was not asked is reported as such, but not for a deleted file")
    func notAsked() throws {
        #expect(try story().text.contains("was not asked"))
        #expect(try !story(of: FileUUID("F0F0F0F0-0000-4000-8000-000000000002")!).text.contains("was not asked"))
    }

    @Test("A deleted file whose contents await deletion, and the time until which they can be rescued")
    func rescue() throws {
        let file = FileUUID("F0F0F0F0-0000-4000-8000-000000000002")!
        let story = try story(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at, sharing_group_id,
                   file_uuid, file_version)
            VALUES ('deleteObject', 1, 'Google', 'object-2', '2099-01-01', '2026-02-03', 1, '\(file.rawValue)', 1)
            """, of: file)

        #expect(story.text.contains("stay there until 2099-01-01T00:00:00Z"))
        #expect(story.remedies.first?.contains("Until 2099-01-01T00:00:00Z, Alice Example") == true)
        #expect(story.remedies.last?.contains("with version 2") == true)
    }

    @Test("For an uncommitted file only the upload is reported")
    func stagedOnly() throws {
        let file = FileUUID("F0F0F0F0-0000-4000-8000-000000000009")!
        let text = try story(
            """
            INSERT INTO staged_changes (user_id, device_uuid, sharing_group_id, file_uuid, kind, file_version,
                   owning_user_id, storage_type, staged_at)
            VALUES (2, 'DDDDDDDD-0000-4000-8000-000000000002', 1, '\(file.rawValue)', 'upload', 0, 1, 'Google',
                    '2026-03-01')
            """, of: file
        ).text

        #expect(text.contains("No group has a file with that UUID."))
        #expect(text.contains("Bob Example (Facebook, user 2) uploaded version 0 on device"))
        #expect(text.contains("in the storage of Alice Example (Google, user 1)"))
    }
}
