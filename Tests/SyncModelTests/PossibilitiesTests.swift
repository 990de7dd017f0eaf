import SyncModel
import Testing

@Suite("The model: possible states after lost replies")
struct PossibilitiesTests {
    var scene = Scene()
    let anna = Caller(Scene.anna, on: "1")

    @Test("A lost reply leaves two possible states, and the group's next reply decides between them")
    mutating func lostReply() {
        var possibilities = Possibilities(of: scene.world)
        let rename = Request.updateSharingGroup(scene.here, name: "new")

        #expect(possibilities.account(for: [Exchange(rename, from: anna, serial: 50, reply: nil)]) == [])
        #expect(possibilities.worlds.count == 2)
        let stale = Reply.success(.object(["masterVersionUpdate": .integer(1)]))
        #expect(possibilities.account(for: [Exchange(rename, from: anna, serial: 51, reply: stale)]) == [])

        #expect(possibilities.worlds.count == 1)
        #expect(possibilities.likeliest.groups[Scene.group]?.name == "new")
    }

    @Test("Two concurrent requests may be performed in either order; any other outcome is rejected")
    mutating func simultaneous() {
        let one = Request.updateSharingGroup(scene.here, name: "one")
        let two = Request.updateSharingGroup(scene.here, name: "two")
        let stale = Reply.success(.object(["masterVersionUpdate": .integer(1)]))
        let done = Reply.success(.object([:]))

        var possibilities = Possibilities(of: scene.world)
        #expect(
            possibilities.account(for: [
                Exchange(one, from: anna, serial: 50, reply: stale), Exchange(two, from: anna, serial: 51, reply: done),
            ]) == [])
        #expect(possibilities.likeliest.groups[Scene.group]?.name == "two")

        possibilities = Possibilities(of: scene.world)
        #expect(
            possibilities.account(for: [
                Exchange(one, from: anna, serial: 50, reply: done), Exchange(two, from: anna, serial: 51, reply: done),
            ]) != [])
    }

    @Test("Values chosen by the server must not change, and a reply that breaks the rules is detected")
    mutating func choices() {
        var possibilities = Possibilities(of: scene.world)
        func check(_ number: Int, _ serial: Int) -> [String] {
            possibilities.account(for: [
                Exchange(
                    .checkCreds, from: anna, serial: serial, reply: .success(.object(["userId": .integer(number)])))
            ])
        }

        #expect(check(7, 50) == [])
        #expect(check(7, 51) == [])
        #expect(check(8, 52) != [])
    }

    @Test("An excused failure changes nothing")
    mutating func excuse() {
        var possibilities = Possibilities(of: scene.world)
        let failure = Refusal(502, "cloud_unavailable")
        let upload = scene.upload("a", 0, "one")

        #expect(
            possibilities.account(for: [
                Exchange(upload, from: anna, serial: 50, reply: .refused(failure), excuses: [failure])
            ]) == [])
        #expect(possibilities.worlds == [scene.world])
        #expect(possibilities.account(for: [Exchange(upload, from: anna, serial: 51, reply: .refused(failure))]) != [])
    }
}
