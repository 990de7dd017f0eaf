import SyncModel
import Testing

@Suite("The model: account switches")
struct SwitchRulesTests {
    private static let next = Account(of: Scene.anna, number: 1, at: .dropbox)
    var scene = Scene()

    private mutating func `switch`(movesContents: Bool = false) -> Answer {
        scene.ask(
            .confirmAccountSwitch(.init("S", at: 0, to: Self.next, movesContents: movesContents)), Scene.anna)
    }

    private func reupload(_ file: String, _ text: String, version: Int = 0) -> Request {
        .reuploadFile(
            .init(
                file, in: Scene.group, version: version, mimeType: "text/plain", content: scene.content(text),
                checkSum: "D" + text))
    }

    @Test("Files keep their versions and wait, with one new master version; the former storage stays unchanged")
    mutating func confirmed() {
        scene.ask(scene.upload("a", 0, "zero"), Scene.anna)
        scene.commit(Scene.anna)
        let before = scene.masterVersion

        #expect(`switch`().isSuccess)
        let after = scene.world
        #expect(`switch`().isSuccess)

        #expect(scene.world == after, "a repeated confirmation changes nothing")
        #expect(scene.masterVersion == before + 1)
        let file = scene.committed("a")
        #expect(file?.version == 0 && file?.isDeleted == false && file?.contentState == .awaiting)
        #expect(file?.account == Self.next)
        #expect(scene.world.remains.left.map(\.account) == [Scene.anna.firstAccount])
    }

    @Test("Only the version's own bytes end the wait")
    mutating func reuploaded() {
        scene.ask(scene.upload("a", 0, "zero"), Scene.anna)
        scene.commit(Scene.anna)
        _ = `switch`()
        let version = scene.masterVersion

        #expect(scene.ask(reupload("a", "other"), Scene.anna).codes == ["content_mismatch"])
        #expect(scene.ask(reupload("a", "zero", version: 1), Scene.anna).codes == ["file_version_mismatch"])
        #expect(scene.ask(reupload("a", "zero"), Scene.anna).isSuccess)

        #expect(scene.committed("a")?.contentState == .stored)
        #expect(scene.masterVersion == version)
        #expect(scene.world.referenced.map(\.account) == [Self.next])
    }

    @Test("Others' changes staged into the former storage are neither committed nor omitted until sent again")
    mutating func othersStaged() {
        scene.letIn(Scene.ben)
        scene.ask(scene.upload("a", 0, "zero"), Scene.anna)
        scene.commit(Scene.anna)
        scene.ask(scene.upload("a", 1, "one"), Scene.ben)
        _ = `switch`()

        #expect(scene.commit(Scene.ben).codes == ["file_version_mismatch"])
        #expect(scene.ask(scene.upload("a", 1, "one"), Scene.ben).isSuccess, "a former storage's checksum is accepted")
        #expect(scene.commit(Scene.ben).isSuccess)

        #expect(scene.committed("a")?.version == 1 && scene.committed("a")?.contentState == .stored)
    }

    @Test("While the server moves files, its progress is unknown; the master version reveals the end")
    mutating func moved() {
        scene.ask(scene.upload("a", 0, "zero"), Scene.anna)
        scene.commit(Scene.anna)
        _ = `switch`(movesContents: true)
        #expect(scene.committed("a")?.contentState == .moving)

        let versions = scene.world.afterMoves.map { $0.groups[Scene.group]?.masterVersion }

        #expect(versions == [scene.masterVersion, scene.masterVersion + 1])
        #expect(scene.world.afterMoves.last?.groups[Scene.group]?.files["a"]?.contentState == .stored)
    }

    @Test("Finishing a switch leaves the waiting files gone or deleted", arguments: Request.MissingFiles.allCases)
    mutating func finished(_ missing: Request.MissingFiles) {
        scene.ask(scene.upload("a", 0, "zero"), Scene.anna)
        scene.commit(Scene.anna)
        _ = `switch`()

        #expect(scene.ask(.finishAccountSwitch(id: "S", missing), Scene.anna).isSuccess)

        #expect(scene.committed("a")?.isDeleted == (missing == .markDeleted))
        #expect((scene.committed("a")?.contentState == .missing) == (missing == .keepGone))
    }
}
