import SyncProtocol
import Testing

@testable import SyncClientTesting
@testable import SyncEngine

/// Problems reported by users of other sync libraries, replayed with this one: once without faults, with a known
/// outcome; and with network faults and killed processes for 40 seeds, where all devices must agree and nothing may be
/// lost.
@Suite("Problems of users of other libraries")
struct StoryTests {
    private static let accept = StoryAnswers(content: .acceptContentDownload, deletion: .acceptDownloadDeletion)
    private static let keep = StoryAnswers(
        content: .rejectContentDownload(.keepAll), deletion: .rejectDownloadDeletion(.keepContentUpload))

    /// Plays a story once without faults, and then with them.
    private func play(_ answers: StoryAnswers, _ body: (Story, _ isCalm: Bool) throws -> Void) throws {
        let story = try Story(answers: answers)
        try body(story, true)
        let violations = try story.end()
        #expect(violations == [])
        for seed in UInt64(1)...40 {
            let troubled = try Story(faultSeed: seed, answers: answers)
            try body(troubled, false)
            let violations = try troubled.end()
            #expect(violations == [], "with the faults of seed \(seed)")
        }
    }

    // github.com/pointfreeco/sqlite-data issue 274: the devices end with different values, depending on who edited
    // first. Issue 354 there: if a newer server change and a local change conflict, the last one does not win.
    @Test(
        "Offline and online edits of one file on two devices end with the same contents everywhere",
        arguments: [true, false], [true, false])
    func concurrentOfflineEdits(offlineEditsFirst: Bool, accepts: Bool) throws {
        try play(accepts ? Self.accept : Self.keep) { story, isCalm in
            let file = try story.shared()
            story.goOffline(.anna)
            if offlineEditsFirst { try story.edit(.anna, file) }
            try story.edit(.ben, file)
            let bens = story.contents(.ben, file)
            if !offlineEditsFirst { try story.edit(.anna, file) }
            let annas = story.contents(.anna, file)
            try story.sync(.ben)
            try story.sync(.anna)
            story.goOnline(.anna)
            try story.syncAll()
            try story.syncAll()

            guard isCalm else { return }
            #expect(story.conflicts == 1)
            #expect(Set(Story.Who.allCases.map { story.contents($0, file) }) == [accepts ? bens : annas])
        }
    }

    // github.com/apple/sample-cloudkit-sync-engine issue 5: changes added to the engine are lost if the process ends
    // before the app has stored the engine's state. github.com/caiyue1993/IceCream issue 7: a change made offline is
    // not sent after the app is restarted.
    @Test("A change is safe as soon as the call that queues it returns; the app stores nothing for the library")
    func deathAfterQueueing() throws {
        try play(Self.accept) { story, isCalm in
            story.goOffline(.anna)
            let file = try story.make(.anna)
            try story.kill(.anna)
            story.goOnline(.anna)
            try story.syncAll()

            guard isCalm else { return }
            #expect(story.contents(.ben, file) == story.contents(.anna, file))
            #expect(story.contents(.ben, file) != nil)
            #expect(story.committedVersions(file) == 1)
        }
    }

    // github.com/pointfreeco/sqlite-data issue 418: after a deletion and a new record under the same id, only the
    // deletion is sent, without an error.
    @Test("A deleted UUID is not reused silently; a new file in its place reaches all devices")
    func deletionAndNewFile() throws {
        try play(Self.accept) { story, isCalm in
            let file = try story.shared()
            try story.delete(.anna, [file])
            #expect(try [.fileQueuedForDeletion, .fileAlreadyDeleted].contains(story.refusalOfUpload(.anna, file)))
            let other = try story.make(.anna)
            try story.syncAll()

            guard isCalm else { return }
            #expect(try story.refusalOfUpload(.anna, file) == .fileAlreadyDeleted)
            for who in Story.Who.allCases {
                #expect(story.contents(who, file) == nil)
                #expect(story.contents(who, other) != nil)
            }
        }
    }

    // github.com/pointfreeco/sqlite-data issue 432: changes that reach a server out of order are dropped from the
    // queue.
    @Test("A change stays queued however often a request fails, and is sent once the server is available")
    func transientFailures() throws {
        try play(Self.accept) { story, isCalm in
            let file = try story.shared()
            try story.edit(.anna, file)
            try story.editText(.ben, file)
            try story.closeServer(for: 5)
            if isCalm {
                #expect(story.hasPendingUploads(.anna))
                #expect(story.hasPendingUploads(.ben))
            }
            try story.syncAll()
            try story.syncAll()

            guard isCalm else { return }
            #expect(!story.hasPendingUploads(.anna))
            #expect(story.committedVersions(file) == 2)
        }
    }

    // github.com/paulw11/Seam3 issue 61: if several attributes of one record change, all changes but one are lost.
    @Test("New contents and new metadata of a file, queued one after the other, both arrive")
    func contentsAndText() throws {
        try play(Self.accept) { story, isCalm in
            let file = try story.shared()
            try story.edit(.anna, file)
            try story.sync(.anna)
            try story.editText(.anna, file)
            try story.syncAll()

            guard isCalm else { return }
            #expect(story.contents(.ben, file) == story.contents(.anna, file))
            #expect(story.text(.ben, file) == story.text(.anna, file))
            #expect(story.text(.ben, file) != nil)
        }
    }

    // github.com/apache/pouchdb issue 6666: an offline edit recreates a document that others deleted, without asking.
    @Test(
        "An offline edit restores a file that others deleted only if the app chooses to", arguments: [true, false])
    func editOfDeletedFile(accepts: Bool) throws {
        try play(accepts ? Self.accept : Self.keep) { story, isCalm in
            let file = try story.shared()
            story.goOffline(.anna)
            try story.edit(.anna, file)
            try story.delete(.ben, [file])
            try story.sync(.ben)
            story.goOnline(.anna)
            try story.syncAll()
            try story.syncAll()

            guard isCalm else { return }
            #expect(story.conflicts == 1)
            #expect(Story.Who.allCases.allSatisfy { (story.contents($0, file) == nil) == accepts })
        }
    }

    @Test("Keeping one file of a deleted file group restores the whole file group, for everyone")
    func editInDeletedFileGroup() throws {
        try play(Self.keep) { story, isCalm in
            let files = try story.sharedFileGroup()
            story.goOffline(.anna)
            try story.edit(.anna, files[0])
            try story.delete(.ben, files)
            try story.sync(.ben)
            story.goOnline(.anna)
            try story.syncAll()
            try story.syncAll()

            guard isCalm else { return }
            #expect(story.conflicts == 1)
            for file in files {
                #expect(story.contents(.anna, file) != nil)
                for who in Story.Who.allCases { #expect(story.contents(who, file) == story.contents(.anna, file)) }
            }
        }
    }

    // github.com/Sorix/CloudCore issue 50: records added offline are duplicated afterwards.
    @Test("Files that were added offline exist once on each device")
    func additionsOffline() throws {
        try play(Self.accept) { story, isCalm in
            story.goOffline(.anna)
            let files = try (1...3).map { _ in try story.make(.anna) }
            try story.sync(.anna)
            try story.kill(.anna)
            story.goOnline(.anna)
            try story.syncAll()
            try story.syncAll()

            guard isCalm else { return }
            #expect(Story.Who.allCases.map { story.fileCount($0) } == [3, 3, 3])
            #expect(files.allSatisfy { story.committedVersions($0) == 1 })
        }
    }
}
