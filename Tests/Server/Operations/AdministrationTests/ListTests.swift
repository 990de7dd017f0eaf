import Testing

@testable import Operations

@Suite("Lists for operators")
struct ListTests {
    @Test("An empty list names the missing items")
    func empty() {
        #expect(Page<ListedUser>([], limit: 1) { _ in "" }.lines == ["no users"])
        #expect(Page<ListedGroup>([], limit: 1) { _ in "" }.lines == ["no groups"])
        #expect(Page<ListedFile>([], limit: 1) { _ in "" }.lines == ["no files"])
        #expect(Page<ListedWork>([], limit: 1) { _ in "" }.lines == ["no jobs"])
        #expect(Page<ListedSwitch>([], limit: 1) { _ in "" }.lines == ["no switches"])
    }
}
