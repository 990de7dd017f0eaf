import Foundation
import Glibc
import SyncDirectory
import TestSupport
import Testing

/// Two people who change their directories at random while processes are killed.
///
/// Each change writes a unique word, and moves the contents it replaces out of the directory in one step. The test
/// therefore knows which words their own side has given up; all others must exist at the end.
struct ChaosRun {
    /// One person's side.
    struct Side {
        let user: TerminalUser
        var watch: WatchProcess
    }

    private var sides: [Side]
    private let server: TestServer
    private let group: String
    private var random: SeededRandom
    private(set) var tally = Tally()
    /// Words that were written and not given up.
    private var words: Set<String> = []
    private var lastWord = 0

    /// The number of changes of each kind.
    struct Tally: CustomStringConvertible {
        var created = 0, edited = 0, appended = 0, moved = 0, deleted = 0, missed = 0
        var killedResponders = 0, killedWatches = 0, conflicts = 0, files = 0

        var description: String {
            """
            \(created) new files, \(edited) edits, \(appended) appendices, \(moved) moves, \(deleted) deletions, \
            \(missed) missed; \(killedResponders) responders and \(killedWatches) watches killed; \
            \(conflicts) conflicts, \(files) files in the end
            """
        }
    }

    init(_ server: TestServer, seed: UInt64) async throws {
        self.server = server
        random = SeededRandom(seed)
        let (ada, bob) = (try TerminalUser("Ada", server), try TerminalUser("Bob", server))
        let group = try ada.succeed("create-group", "Chaos \(seed)")
        try bob.succeed("join", try ada.succeed("invite", group))
        self.group = group
        sides = try [ada, bob].map { Side(user: $0, watch: try $0.watch(group: group)) }
    }

    /// Makes changes in bursts, each on a random side, and sometimes kills a process.
    mutating func change(times: Int) async throws {
        var rest = times
        while rest > 0 {
            let side = Int.random(in: 0...1, using: &random)
            for _ in 0..<min(rest, Int.random(in: 1...6, using: &random)) {
                try change(sides[side].user)
                rest -= 1
            }
            switch Int.random(in: 0..<20, using: &random) {
            case 0, 1: try await killResponder()
            case 2: try await killWatch(Int.random(in: 0...1, using: &random))
            case 3...10: try await awaitRound(of: side)
            default: break
            }
        }
    }

    /// Waits for progress of the side's watch, so that some bursts meet the effects of the previous one.
    private func awaitRound(of side: Int) async throws {
        let (sides, watch) = (sides, sides[side].watch)
        let before = watch.events.count
        // A lost request times out after 75 s. Nothing follows if signals have already brought everything to both sides.
        try await eventually("a round at \(sides[side].user.name): \(watch.lastWords)", within: .seconds(150)) {
            try watch.events.count > before || !watch.isRunning || Self.areSettled(sides)
        }
    }

    private mutating func killResponder() async throws {
        let part = Bool.random(using: &random) ? "syncd_api" : "syncd_transfer"
        guard let victim = try server.processes(part).randomElement(using: &random) else { return }
        victim.send(SIGKILL)
        tally.killedResponders += 1
        try await eventually("the responder has ended") { !victim.isRunning }
        if tally.killedResponders % 2 == 0 { try server.stack?.restore() }
    }

    private mutating func killWatch(_ side: Int) async throws {
        try sides[side].watch.end(SIGKILL)
        tally.killedWatches += 1
        // A change while no watch is running.
        try change(sides[side].user)
        sides[side].watch = try sides[side].user.watch(group: group)
    }

    // MARK: Changes

    private mutating func change(_ user: TerminalUser) throws {
        let names = try user.files().keys.sorted()
        let kind = names.count < 5 ? 0 : Int.random(in: 0..<100, using: &random)
        guard kind >= 25, let name = names.randomElement(using: &random) else { return try create(user) }
        do {
            switch kind {
            case 25..<60: try edit(user, name)
            case 60..<70: try append(user, name)
            case 70..<86: try move(user, name)
            default: try delete(user, name)
            }
        } catch let error as DiskError where [ENOENT, EEXIST, ENOTDIR, EISDIR].contains(error.code) {
            // The watch changed the file first.
            tally.missed += 1
        }
    }

    private mutating func word() -> String {
        lastWord += 1
        words.insert("w\(lastWord)")
        return "w\(lastWord)"
    }

    private mutating func contents(_ word: String) -> String {
        let length = [0, 10, 1_000, 5_000, 200_000].randomElement(using: &random) ?? 0
        return word + "\n" + String(repeating: "#", count: Int.random(in: 0...length, using: &random)) + "\n"
    }

    private func words(in text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("w") }.map(String.init)
    }

    private mutating func randomPath() -> String {
        let folder = ["", "a/", "b/", "b/c/"].randomElement(using: &random) ?? ""
        return folder + "f\(Int.random(in: 0..<30, using: &random)).txt"
    }

    /// A new file, created outside the directory.
    private mutating func draft(_ user: TerminalUser) throws -> (place: FilePlace, word: String) {
        let word = word()
        let file = user.outside.appending(path: "draft-\(word)")
        try Data(contents(word).utf8).write(to: file)
        return (try FilePlace(file), word)
    }

    private mutating func create(_ user: TerminalUser) throws {
        let path = randomPath()
        let target = user.directory.appending(path: path)
        try? FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        let (draft, word) = try draft(user)
        do {
            try draft.move(to: try FilePlace(target))
            tally.created += 1
        } catch {
            // The file was never in the directory.
            words.remove(word)
            tally.missed += 1
        }
    }

    private mutating func edit(_ user: TerminalUser, _ name: String) throws {
        let (draft, word) = try draft(user)
        do { try draft.exchange(with: try FilePlace(user.directory.appending(path: name))) } catch {
            words.remove(word)
            throw error
        }
        giveUp(try draft.contents())
        tally.edited += 1
    }

    /// Writes in place, through a descriptor that may be open while the file is replaced.
    private mutating func append(_ user: TerminalUser, _ name: String) throws {
        let descriptor = unsafe open(user.directory.appending(path: name).path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else {
            tally.missed += 1
            return
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data((word() + "\n").utf8))
        try file.close()
        tally.appended += 1
    }

    private mutating func move(_ user: TerminalUser, _ name: String) throws {
        let target = user.directory.appending(path: randomPath())
        try? FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FilePlace(user.directory.appending(path: name)).move(to: try FilePlace(target))
        tally.moved += 1
    }

    private mutating func delete(_ user: TerminalUser, _ name: String) throws {
        let bin = try FilePlace(user.outside.appending(path: "deleted-\(UUID().uuidString)"))
        try FilePlace(user.directory.appending(path: name)).move(to: bin)
        giveUp(try bin.contents())
        tally.deleted += 1
    }

    /// Records that a person replaced or deleted these contents.
    private mutating func giveUp(_ text: String) { words.subtract(words(in: text)) }

    // MARK: Final state

    /// Waits until both sides are equal and have nothing to do.
    mutating func settle(within limit: Duration) async throws {
        try server.stack?.restore()
        for index in sides.indices where !sides[index].watch.isRunning {
            Issue.record("the watch of \(sides[index].user.name) ended: \(sides[index].watch.lastWords)")
            sides[index].watch = try sides[index].user.watch(group: group)
        }
        let sides = sides
        do {
            try await eventually("both sides are equal and idle", within: limit) {
                try Self.areSettled(sides)
            }
        } catch {
            let (ada, bob) = (try sides[0].user.files(), try sides[1].user.files())
            let differing = Set(ada.keys).union(bob.keys).filter { ada[$0] != bob[$0] }.sorted()
            Issue.record(
                """
                differing: \(differing)
                \(sides.map { "\($0.user.name): \((try? $0.user.status()).map { "\($0)" } ?? "")".prefix(1_500) })
                \(sides.map { $0.watch.text.suffix(1_500) })
                """)
            throw error
        }
    }

    private static func areSettled(_ sides: [Side]) throws -> Bool {
        try sides.allSatisfy { try isAtRest($0) } && sides[0].user.files() == sides[1].user.files()
    }

    private static func isAtRest(_ side: Side) throws -> Bool {
        let incoming = side.user.directory.appending(path: ".syncdir/incoming").path
        return try side.user.status().pending?.array?.isEmpty == true
            && FileManager.default.contentsOfDirectory(atPath: incoming).isEmpty
    }

    /// Checks the guarantees for the final state.
    mutating func check() throws {
        let files = try sides[0].user.files()
        let present = Set(files.values.flatMap { words(in: $0) })
        let lost = words.subtracting(present).sorted()
        #expect(lost.isEmpty, "words that were not given up, but no longer exist")
        let conflicts = try sides.flatMap { try $0.user.status().conflicts?.array ?? [] }
        let copies = Set(conflicts.compactMap { $0.copy?.text })
        let unexplained = files.keys.filter { $0.contains("(conflict of ") && !copies.contains($0) }.sorted()
        #expect(unexplained.isEmpty, "conflict copies that no status reports")
        tally.conflicts = conflicts.count
        tally.files = files.count
        for side in sides { #expect(try side.watch.end(SIGTERM) == 0) }
    }
}

/// Reproducible pseudorandom numbers: SplitMix64.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
