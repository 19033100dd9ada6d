// The kernel's linked lists and red-black tree over modelled fields.
//
// The algorithms are Boost.Intrusive's, given our own nodes through node traits: every link is a
// Cell, so tracing and the simulator see each load and store. `normal_link` semantics: an unlinked
// node keeps its old pointers, like the kernel's without poisoning. Only functions whose access
// counts tests/lru/list_test.cc asserts are used on the path.
//
// Mirrors   struct list_head, list_add(), list_del(); struct rb_node; linux v4.0
// Shape     list_head: two pointers. rb_node: three words, the colour in bit 0 of the parent
// Threads   protected by the lock of whoever owns the list
// Cost      list_add: one load, four stores; list_del: two loads, two stores
// Left out  list poisoning
// Changed   the tree's root is a full node (Boost keeps leftmost and rightmost in it); the kernel's
//           rb_root is one pointer
#ifndef MEMSIM_LRU_LIST_H_
#define MEMSIM_LRU_LIST_H_

#include <boost/intrusive/circular_list_algorithms.hpp>
#include <boost/intrusive/rbtree_algorithms.hpp>
#include <cstdint>

#include "memsim/internal/compiler.h"
#include "memsim/machine/machine.h"

namespace memsim {

template <class M>
struct ListHead {
  typename M::template Cell<ListHead*> next;
  typename M::template Cell<ListHead*> prev;
};

template <class M>
struct ListTraits {
  using node = ListHead<M>;
  using node_ptr = ListHead<M>*;
  using const_node_ptr = const ListHead<M>*;
  static node_ptr get_next(const_node_ptr n) { return n->next.load(); }
  static void set_next(node_ptr n, node_ptr next) { n->next.store(next); }
  static node_ptr get_previous(const_node_ptr n) { return n->prev.load(); }
  static void set_previous(node_ptr n, node_ptr prev) { n->prev.store(prev); }
};

template <class M>
using ListAlgorithms = boost::intrusive::circular_list_algorithms<ListTraits<M>>;

template <class M>
MEMSIM_INLINED void list_init(ListHead<M>& head) {
  ListAlgorithms<M>::init_header(&head);
}
// Puts `node` right behind `head`.
template <class M>
MEMSIM_INLINED void list_add(ListHead<M>& node, ListHead<M>& head) {
  ListAlgorithms<M>::link_after(&head, &node);
}
template <class M>
MEMSIM_INLINED void list_del(ListHead<M>& node) {
  ListAlgorithms<M>::unlink(&node);
}
template <class M>
MEMSIM_INLINED bool list_empty(const ListHead<M>& head) {
  return head.next.load() == &head;
}

template <class M>
struct RbNode {
  typename M::template Cell<RbNode*> parent_color;  // bit 0: black
  typename M::template Cell<RbNode*> right;
  typename M::template Cell<RbNode*> left;
};

template <class M>
struct RbTraits {
  using node = RbNode<M>;
  using node_ptr = RbNode<M>*;
  using const_node_ptr = const RbNode<M>*;
  using color = uintptr_t;
  static node_ptr get_parent(const_node_ptr n) { return Tag(n->parent_color.load(), 0); }
  static void set_parent(node_ptr n, node_ptr p) {
    n->parent_color.store(Tag(p, get_color(n)));
  }
  static node_ptr get_left(const_node_ptr n) { return n->left.load(); }
  static void set_left(node_ptr n, node_ptr l) { n->left.store(l); }
  static node_ptr get_right(const_node_ptr n) { return n->right.load(); }
  static void set_right(node_ptr n, node_ptr r) { n->right.store(r); }
  static color get_color(const_node_ptr n) {
    return reinterpret_cast<uintptr_t>(n->parent_color.load()) & 1;
  }
  static void set_color(node_ptr n, color c) {
    n->parent_color.store(Tag(n->parent_color.load(), c));
  }
  static color black() { return 1; }
  static color red() { return 0; }

 private:
  static node_ptr Tag(node_ptr n, color c) {
    return reinterpret_cast<node_ptr>((reinterpret_cast<uintptr_t>(n) & ~uintptr_t{1}) | c);
  }
};

template <class M>
using RbAlgorithms = boost::intrusive::rbtree_algorithms<RbTraits<M>>;

}  // namespace memsim

#endif  // MEMSIM_LRU_LIST_H_
