import SyncModel
import Testing

@Suite("The model: departing members")
struct DepartureRulesTests {
    var scene = Scene()

    @Test("A departing owner's files are deleted; their sharing users cannot add files, but can still read")
    mutating func ownerLeaves() {
        scene.letIn(Scene.chris, .admin)
        scene.ask(scene.upload("a", 0, "zero"), Scene.chris)
        scene.commit(Scene.chris)
        #expect(scene.committed("a")?.owner.person == Scene.anna)

        scene.ask(.removeUserFromSharingGroup(scene.here), Scene.anna)

        #expect(scene.committed("a")?.isDeleted == true)
        #expect(scene.world.remains.left.map(\.file) == ["a"])
        #expect(scene.ask(scene.upload("b", 0, "new"), Scene.chris).codes == ["owner_removed"])
        #expect(scene.ask(scene.upload("a", 1, "again", undeletes: true), Scene.chris).codes == ["owner_removed"])
        #expect(scene.ask(.index(group: Scene.group), Scene.chris).isSuccess)
        #expect(scene.ask(.index(group: Scene.group), Scene.anna).codes == ["group_unknown"])
    }

    @Test("A new file staged into a departed owner's storage cannot be committed")
    mutating func stagedIntoForeignStorage() {
        scene.letIn(Scene.chris)
        scene.ask(scene.upload("a", 0, "zero"), Scene.chris)

        scene.ask(.removeUser, Scene.anna)

        #expect(scene.commit(Scene.chris).codes == ["owner_removed"])
    }

    @Test("Once its device has been informed, a new file without owner no longer blocks commits")
    mutating func toldOfOwner() {
        scene.letIn(Scene.ben)
        scene.letIn(Scene.chris)
        scene.ask(scene.upload("b", 0, "zero"), Scene.ben)
        scene.commit(Scene.ben)
        scene.ask(scene.upload("a", 0, "zero"), Scene.chris)
        scene.ask(.removeUser, Scene.anna)
        scene.ask(scene.upload("b", 1, "one"), Scene.chris)
        #expect(scene.commit(Scene.chris).codes == ["owner_removed"])

        #expect(scene.ask(scene.upload("a", 0, "zero"), Scene.chris).codes == ["owner_removed"])

        #expect(scene.commit(Scene.chris).isSuccess)
        #expect(scene.committed("b")?.version == 1)
    }

    @Test("Removing a user raises each group's master version once, deletes empty groups, and frees the account")
    mutating func removeUser() {
        scene.letIn(Scene.ben)
        scene.ask(.createSharingGroup(group: "H", name: nil), Scene.anna)
        let before = scene.masterVersion

        #expect(scene.ask(.removeUser, Scene.anna).isSuccess)

        #expect(scene.masterVersion == before + 1)
        #expect(scene.world.groups["H"]?.isDeleted == true)
        #expect(scene.ask(.checkCreds, Scene.anna).codes == ["user_unknown"])
        #expect(scene.ask(.addUser(group: "H", name: nil, folder: "F"), Scene.anna).codes == ["group_exists"])
        #expect(scene.ask(.addUser(group: "I", name: nil, folder: "F"), Scene.anna).isSuccess)
    }

    @Test("When the last admin leaves, a member is promoted; those with storage have priority")
    mutating func succession() {
        scene.letIn(Scene.chris, .write)
        scene.letIn(Scene.ben, .read)
        var possibilities = Possibilities(of: scene.world)
        let leaving = Exchange(
            .removeUserFromSharingGroup(scene.here), from: Caller(Scene.anna, on: "1"), serial: 99,
            reply: .success(.object([:])))

        #expect(possibilities.account(for: [leaving]) == [])

        #expect(possibilities.likeliest.groups[Scene.group]?.members[Scene.ben]?.permission == .admin)
        #expect(possibilities.likeliest.groups[Scene.group]?.members[Scene.chris]?.permission == .write)
    }
}
