import SyncProtocol
import Testing

@testable import Store

@Suite("Promotion after a group has lost its admin")
struct SuccessionTests {
    private func member(
        _ number: Int64, _ type: AccountType = .google, _ permission: Permission = .read, joined: Int64 = 0
    ) -> GroupMember {
        GroupMember(userID: UserID(number), accountType: type, permission: permission, joinedAt: noon(plus: joined))
    }

    @Test("A group without members ends")
    func nobody() {
        #expect(Succession.among([]) == .groupEnds)
    }

    @Test("While the group has an admin, with storage or without, nothing happens")
    func admin() {
        #expect(Succession.among([member(1), member(2, .google, .admin)]) == .unnecessary)
        #expect(Succession.among([member(1), member(2, .facebook, .admin)]) == .unnecessary)
    }

    @Test("Storage ranks before permission, then the time of membership, then the user id")
    func order() {
        let cases: [(Int64, [GroupMember])] = [
            (2, [member(1, .facebook, .write), member(2, .dropbox, .read, joined: 9)]),
            (2, [member(1, .google, .read), member(2, .microsoft, .write, joined: 9)]),
            (2, [member(1, .google, .write, joined: 1), member(2, .google, .write), member(3, .appleSignIn, .write)]),
            (1, [member(2, .google, .write), member(1, .google, .write)]),
            (1, [member(1)]),
        ]
        for (expected, members) in cases {
            #expect(Succession.among(members) == .promotion(of: UserID(expected)), "\(members)")
            #expect(Succession.among(members.reversed()) == .promotion(of: UserID(expected)), "\(members)")
        }
    }

    @Test("Among members without storage only the time of membership counts")
    func nobodyWithStorage() {
        let members = [
            member(1, .facebook, .write, joined: 2), member(2, .appleSignIn, .read, joined: 1),
            member(3, .facebook, .write, joined: 1),
        ]

        #expect(Succession.among(members) == .promotion(of: UserID(2)))
    }
}
